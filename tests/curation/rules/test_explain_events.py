from __future__ import annotations

from pathlib import Path

import pytest

from curation.rules.explain import explain
from curation.rules.release import freeze
from curation.rules.rule import EventRule, SplitRule
from curation.rules.selection import SelectionStream
from curation.splits.errata import Errata, Erratum
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.curation.verdicts import make_verdict
from tests.support.events import MERGER, MOVE, event_records, make_event

WHO = f"{MERGER}/fact/Who-leads-Brenta-Rail?"
RECORDS = {r.key: r for r in event_records()}
WRONG = Erratum(item=MOVE, what="never happened", date="2026-11-22")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        db.put([*event_records(), make_verdict(RECORDS[WHO].id, "drop", "stands_alone@1")])
        yield db  # type: ignore[misc]


@pytest.mark.parametrize(
    "rule", [{}, {"types": ["merger"]}, {"prefix": "e/mo"}, {"min_questions": 2}, {"min_people": 1}]
)
@pytest.mark.parametrize("errata", [(), (WRONG,)])
def test_what_is_explained_is_what_the_freeze_does(
    store: Store, rule: dict[str, object], errata: tuple[Erratum, ...]
) -> None:
    rules, corrections = EventRule.model_validate(rule), Errata(errata)
    cases = list(SelectionStream(store, rules, errata=corrections))
    keys = {c.event.key for c in cases} | {q.key for c in cases for q in (*c.facts, *c.tendencies)}
    for key in RECORDS:
        assert (explain(store, rules, key, errata=corrections).status == "in") == (key in keys), key


@pytest.mark.parametrize(
    ("key", "rule", "status", "reason"),
    [
        (MERGER, {}, "in", "in 'case/e/merger', which has 4 questions"),
        (f"case/{MERGER}", {}, "in", "in 'case/e/merger', which has 4 questions"),
        (WHO, {}, "out", "stands_alone drops the fact_question"),
        (MOVE, {"types": ["merger"]}, "out", "its type is 'headquarters', the rule takes merger"),
        (MOVE, {"prefix": "x"}, "out", "does not begin with 'x'"),
        (MOVE, {"min_questions": 2}, "out", "has 1 kept question, the rule wants 2"),
        (f"{MOVE}/fact/Where-is-Corvo-Foods?", {"min_people": 2}, "held", "fewer than 2 people judged it"),
    ],
)
def test_the_reason_is_named(store: Store, key: str, rule: dict[str, object], status: str, reason: str) -> None:
    explanation = explain(store, EventRule.model_validate(rule), key)
    assert explanation.status == status and reason in explanation.why
    assert f"{explanation.kind} {explanation.key}: {status.upper()}, " in explanation.text()


def test_a_case_that_was_frozen_is_explained_by_its_split(store: Store) -> None:
    split = freeze(store, "mine", EventRule())
    assert explain(store, EventRule.model_validate(split.header["rule"]), f"case/{MOVE}").status == "in"


def test_a_former_version_and_an_event_that_is_gone(store: Store) -> None:
    old = RECORDS[MERGER]
    store.put([make_event(text="They merged.")])
    assert "replaced by another" in explain(store, EventRule(), old.id).why
    store.put([RECORDS[WHO].model_copy(update={"key": "e/lost/q", "event": "e/lost"})])
    assert explain(store, EventRule(), "e/lost/q").why == "its event 'e/lost' is not in the store"


def test_a_rule_about_facts_explains_no_event(store: Store) -> None:
    with pytest.raises(UserError, match="belongs to a kind of edit .event. .*; --set edits=event"):
        explain(store, SplitRule(), MERGER)
