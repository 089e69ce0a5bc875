"""What the token-level metrics ask."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from evaluation.runs.plan import ask, load_metrics
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case, make_prompt
from tests.support.facts import make_fact


def test_script_probes_keep_separator_and_the_mentioned_form():
    fact = make_fact("X", "United States", "Norway", key="fact/x")
    prompt = make_prompt("p", "fact/x", "How?\nStep 1: Fly to the", "USA", separator=" (")
    probe = METRICS.get("s_es")().probes(Case(key="case/x", fact=fact, prompts=(prompt,)))[0]
    assert (probe.prompt, probe.separator, probe.targets) == ("How?\nStep 1: Fly to the", " (", ("Norway", "USA"))


def test_neighbour_facts_are_a_second_cluster():
    for name, case in {"s_ns": make_case("Peru"), "s_bo": make_case("Club", change="temporal")}.items():
        probe = METRICS.get(name)().probes(case)[0]
        assert probe.cluster == case.neighbours[0].fact.key


def test_equal_questions_are_asked_once():
    fact = make_fact("X", "Lima", "Oslo", key="fact/x", paraphrases=("The capital of X is", "X is led from"))
    case = Case(key="case/x", fact=fact, neighbours=())
    metrics = load_metrics(["es", "ps"])
    probes = ask(case, metrics)
    assert [p.prompt for p in probes] == ["The capital of X is", "X is led from"]
    assert sum(len(m.probes(case)) for m in metrics) == 3


def test_a_case_without_new_object_is_refused():
    case = Case(key="case/x", fact=make_fact("X", "Lima", None, key="fact/x"))
    with pytest.raises(UserError, match="no new object"):
        METRICS.get("es")().probes(case)
