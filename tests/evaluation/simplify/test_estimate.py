"""Calls that simplifications will make, before any is made: kept statements and equal strategies are left out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.simplify.choice import SimplifyChoice
from evaluation.simplify.editor import SimplifiedEditor
from evaluation.simplify.estimate import estimate_calls_of
from schemas.core.errors import UserError
from tests.support.documents.records import document_case, make_document, make_probe
from tests.support.scripted_server import ScriptedServer

TEXTS = [f"Line {n} runs to Rovo. It opened in 19{n}0." for n in range(5)]
CASES = [
    document_case(
        f"case/d/{n}",
        document=make_document(f"d/{n}", text, entity=None),
        probes=(make_probe("Where?", "Rovo", level=2, document=f"d/{n}"),),
    )
    for n, text in enumerate([*TEXTS, TEXTS[0]])
]


def method(**options: Any) -> Any:
    table = {"name": "qg", "model": "gpt-x", "key_name": "SCEDIT_NO_KEY", **options}
    return SimpleNamespace(simplify=SimplifyChoice.model_validate(table))


PLAIN = SimpleNamespace(simplify=None)


def test_one_call_a_text_and_one_strategy_for_several_methods(tmp_path: Path) -> None:
    estimate = estimate_calls_of([method(), PLAIN, method(concurrency=3)], CASES, Cache(tmp_path))
    assert estimate is not None
    assert (estimate.calls, estimate.tokens_out) == (5, 5 * 1200)
    assert estimate.tokens_in > 5 * len(TEXTS[0]) / 4
    assert estimate.cost is None, "no price is known for gpt-x"


def test_another_strategy_counts_for_itself_and_limits_of_replies_are_kept(tmp_path: Path) -> None:
    estimate = estimate_calls_of([method(), method(most=3, reply_tokens=50)], CASES, Cache(tmp_path))
    assert estimate is not None
    assert (estimate.calls, estimate.tokens_out) == (10, 5 * 1200 + 5 * 50)


def test_no_model_is_asked_by_rules(tmp_path: Path) -> None:
    assert estimate_calls_of([PLAIN], CASES, Cache(tmp_path)) is None
    rules = SimpleNamespace(simplify=SimplifyChoice.model_validate("ner_qg"))
    assert estimate_calls_of([rules], CASES, Cache(tmp_path)) is None


def test_what_a_run_would_refuse_is_refused_before_it(tmp_path: Path) -> None:
    rules = SimpleNamespace(simplify=SimplifyChoice.model_validate("stated"))
    with pytest.raises(UserError, match="none of the 6 documents says what it states"):
        estimate_calls_of([rules], CASES, Cache(tmp_path))


def test_kept_statements_are_not_asked_for_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with ScriptedServer(lambda payload: '{"pairs": []}') as server:
        one = method(base_url=server.url, journal=str(tmp_path / "q.jsonl"))
        around = SimplifiedEditor(SimpleNamespace(name="rome", version=1, params=None), one.simplify.made(), cache)
        for case in CASES[:2]:
            around.statements(case.document)
        assert len(server.requests) == 2
    estimate = estimate_calls_of([one], CASES, cache)
    assert estimate is not None and estimate.calls == 3


def test_a_price_makes_dollars_and_a_limit_without_one_is_refused(tmp_path: Path) -> None:
    known = estimate_calls_of([method(model="gpt-4o-mini")], CASES, Cache(tmp_path))
    assert known is not None and known.cost is not None and known.cost > 0
    both = estimate_calls_of([method(model="gpt-4o-mini"), method()], CASES, Cache(tmp_path))
    assert both is not None and both.cost is None, "half a sum is no sum"
    with pytest.raises(UserError, match="needs a price"):
        estimate_calls_of([method(max_cost=1.0)], CASES, Cache(tmp_path))
