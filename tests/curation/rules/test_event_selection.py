from __future__ import annotations

import re
from pathlib import Path

import pytest

from curation.rules.release import freeze, freeze_with_report
from curation.rules.rule import EventRule
from curation.rules.ruling import Ruling
from curation.rules.selection import SelectionStream
from curation.splits.errata import Errata, Erratum
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.verdicts import Verdict
from tests.support.curation.verdicts import make_verdict
from tests.support.events import MERGER, MOVE, event_case, event_records, make_tendency

WHOLE = event_case()
RECORDS = {r.key: r for r in event_records()}
WHO, FOUNDED, PRICES = (f"{MERGER}/{k}" for k in ("fact/Who-leads-Brenta-Rail?", "fact/Where-was-Alba-Rail-founded?",
                                                  "tendency/How-may-ticket-prices-change?"))  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        db.put(event_records())
        yield db  # type: ignore[misc]


def asked(store: Store, *entries: Erratum, **rule: object) -> dict[str, int]:
    """Number of questions by event, of the cases that come out."""
    stream = SelectionStream(store, EventRule.model_validate(rule), errata=Errata(entries), block=1)
    return {c.event.key: len(c.facts) + len(c.tendencies) for c in stream}


def said(key: str, label: str, by: str = "person:ann/judge_tendency@1") -> Verdict:
    return make_verdict(RECORDS[key].id, label, by)


CASES = [
    ("all", [], {}, {MERGER: 5, MOVE: 1}),
    ("a question dropped", [said(WHO, "drop", "stands_alone@1")], {}, {MERGER: 4, MOVE: 1}),
    ("an event dropped", [said(MOVE, "drop", "kept@1")], {}, {MERGER: 5}),
    ("unsure is held", [said(PRICES, "unsure")], {}, {MERGER: 4, MOVE: 1}),
    ("types", [], {"types": ["headquarters"]}, {MOVE: 1}),
    ("prefix", [], {"prefix": "e/mer"}, {MERGER: 5}),
    ("too few questions", [], {"min_questions": 2}, {MERGER: 5}),
    ("one person is not two", [said(PRICES, "keep")], {"min_people": 2}, {}),
    ("one person twice is not two",
     [said(PRICES, "keep"), said(PRICES, "keep", "person:ann/review_scope@1")], {"min_people": 2}, {}),
    ("two people keep",
     [said(PRICES, "keep"), said(PRICES, "keep", "person:bo/judge_tendency@1")], {"min_people": 2}, {MERGER: 1}),
    ("a lead decides, however many people judged",
     [said(PRICES, "drop"), said(PRICES, "keep", "person:lea/judge_tendency_adjudicated@1")], {"min_people": 2},
     {MERGER: 1}),
    ("one of two drops",
     [said(PRICES, "keep"), said(PRICES, "drop", "person:bo/judge_tendency@1")], {"min_people": 2}, {}),
    ("a check is no person", [said(PRICES, "keep", "options@1")], {"min_people": 1}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "rule", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_rule(store: Store, verdicts: list[Verdict], rule: dict[str, object], expected: dict[str, int]) -> None:
    store.put(verdicts)
    assert asked(store, **rule) == expected


def test_errata_take_out_events_cases_and_questions(store: Store) -> None:
    wrong = {"what": "wrong", "date": "2026-11-22"}
    assert asked(store, Erratum(item=WHO, **wrong)) == {MERGER: 4, MOVE: 1}
    assert asked(store, Erratum(item=f"case/{MOVE}", **wrong), Erratum(item=WHO, **wrong, id="other")) == {MERGER: 5}
    ruling = Ruling(store, EventRule(), errata=Errata([Erratum(item=MOVE, action="hold", **wrong)]))
    assert ruling.of_edit(RECORDS[MOVE]).outcome == "hold"


def test_people_judge_a_whole_case_of_exactly_this_content(store: Store) -> None:
    (case,) = SelectionStream(store, EventRule(prefix="e/mer"))
    assert {q.id for q in (*case.facts, *case.tendencies)} == {q.id for q in (*WHOLE.facts, *WHOLE.tendencies)}
    store.put([make_verdict(WHOLE.id[::-1], "drop", "person:ann/quality@1")])
    assert MERGER in asked(store)
    store.put([make_verdict(case.id, "drop", "person:ann/quality@1")])
    assert asked(store) == {MOVE: 1}


def test_a_frozen_split_of_events_comes_back_and_says_what_was_lost(store: Store) -> None:
    store.put([said(WHO, "drop", "stands_alone@1")])
    split = freeze(store, "mine", EventRule(min_questions=2))
    assert split.type == "event" and split.header["format"] == 3 and len(split.all_cases) == 1
    assert split.header["counts"] == {
        "cases": 1,
        "event: too few questions": 1,
        "events": 2,
        "fact question: dropped by stands_alone": 1,
    }
    assert [c.key for c in store.split("mine").all_cases] == [f"case/{MERGER}"]
    assert store.split_sizes("mine@1.0.0") == (2, 2)
    with pytest.raises(UserError, match="mine@1.0.0: this works on edits of facts"):
        _ = split.cases


def test_a_split_without_a_case_says_why(store: Store) -> None:
    with pytest.raises(UserError, match="would have no case .*event: too few questions: 2"):
        freeze_with_report(store, "mine", EventRule(min_questions=9))


def test_a_rule_that_fits_no_event_counts_events(store: Store) -> None:
    with pytest.raises(UserError, match=r"no case \(0 events in the rule's scope; fact question"):
        freeze(store, "x", EventRule(types=("nope",), min_people=1))


def test_a_question_in_both_scopes_is_named_until_one_of_the_two_is_taken_out(store: Store) -> None:
    """Two records that are sound by themselves: a factual question, and a tendency that asks the same elsewhere."""
    again = make_tendency("WHO leads Brenta Rail?", "C", event=MERGER, scope="out", key=f"{MERGER}/t-again")
    store.put([again])
    with pytest.raises(UserError, match=rf"in and out of scope: 'WHO leads Brenta Rail\?' \('{re.escape(WHO)}' and"):
        asked(store)
    wrong = {"what": "asked twice", "date": "2026-11-25"}
    assert asked(store, Erratum(item=again.key, **wrong)) == {MERGER: 5, MOVE: 1}
