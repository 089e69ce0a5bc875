"""What the text-level metrics ask."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.text_level import objects, questions
from schemas.core.errors import UserError
from schemas.scripts import ScriptQuestion
from tests.support.arithmetic import make_case


def test_metrics_share_the_scripts_they_read() -> None:
    case = make_case("Peru")
    names = (
        "s_es_gen_question",
        "script_format",
        "old_object_rate",
        "repetition_rate",
        "refusal_rate",
        "n_gram_entropy",
    )
    probes = [tuple(p.id for p in METRICS.get(n)().probes(case)) for n in names]
    assert len(set(probes)) == 1


def test_questions_come_from_records_else_from_the_prompts() -> None:
    case = make_case("Peru")
    assert questions(case) == [(f"fact/peru/p{n}", f"How to reach Peru ({n})?") for n in (1, 2)]
    question = ScriptQuestion(key="q", fact=case.fact.key, text="How to see Peru?")
    assert questions(case.model_copy(update={"questions": (question,)})) == [("q", "How to see Peru?")]


def test_a_fact_without_a_new_object_is_no_case() -> None:
    case = make_case("Peru")
    with pytest.raises(UserError, match="no new object"):
        objects(case.model_copy(update={"fact": case.fact.model_copy(update={"new": None})}))
