"""The shipped split ``events`` is what its page says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.scope_wording import items_of, predicted
from construction.events.checks import EventInputs, judge_event
from curation.shipped import SHIPPED, events_split, named_split
from curation.splits.split_file import write_split
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion, TendencyQuestion
from tests.support.curation.shipped_events import build


@pytest.fixture(scope="module")
def cases() -> list[EventCase]:
    return [case for case in events_split().all_cases if isinstance(case, EventCase)]


def facts(cases: list[EventCase]) -> list[FactQuestion]:
    return [question for case in cases for question in case.facts]


def tendencies(cases: list[EventCase]) -> list[TendencyQuestion]:
    return [question for case in cases for question in case.tendencies]


def test_the_split_is_made_of_its_source(tmp_path: Path) -> None:
    write_split(build(), tmp_path / "events.jsonl")
    assert (tmp_path / "events.jsonl").read_bytes() == (SHIPPED / "events/events.jsonl").read_bytes()
    assert named_split("events").digest == build().digest


def test_numbers(cases: list[EventCase]) -> None:
    templates = Counter(case.event.template for case in cases)
    assert len(cases) == 24 and templates.pop(None) == 8
    assert len(templates) == 8 and set(templates.values()) == {2}
    assert Counter(q.scope for q in facts(cases)) == {"in": 64, "out": 64}
    assert sum(q.unknown for q in facts(cases)) == 16
    assert sum(q.background for q in facts(cases)) == 28
    assert not any(q.background and q.scope == "out" for q in facts(cases))
    assert Counter(q.scope for q in tendencies(cases)) == {"in": 96, "out": 48}
    assert {case.event.source.licence for case in cases} == {"CC0-1.0"}


def test_right_letters_stand_in_equal_shares_in_both_scopes(cases: list[EventCase]) -> None:
    letters = Counter((q.scope, q.answer) for q in tendencies(cases))
    assert letters == {**{("in", each): 32 for each in "ABC"}, **{("out", each): 16 for each in "ABC"}}


def test_a_third_out_of_scope_is_a_change_and_two_of_six_are_about_others(cases: list[EventCase]) -> None:
    changing = [q for q in tendencies(cases) if q.scope == "out" and "stay" not in q.right_option]
    assert len(changing) >= 16
    for case in cases:
        inner_questions = [q for q in case.tendencies if q.scope == "in"]
        assert 1 <= sum(bool(q.about_event_subject) for q in inner_questions) <= 4


def test_no_wording_is_of_one_scope(cases: list[EventCase]) -> None:
    """Each relation is asked for equally often in both scopes of its event."""
    for case in cases:
        counts = Counter((q.relation.id, q.scope) for q in case.facts)
        assert all(counts[relation, "in"] == counts[relation, "out"] for relation, _ in counts)


@pytest.mark.parametrize("what", ["scope of facts", "scope of tendencies"])
def test_the_scope_cannot_be_told_from_the_wording(cases: list[EventCase], what: str) -> None:
    items = items_of(cases, what)
    assert roc_auc_score([label for *_, label in items], predicted(items, None, 5)) <= 0.65


def test_every_check_keeps_every_question(cases: list[EventCase]) -> None:
    for case in cases:
        for place, question in enumerate(case.tendencies):
            inputs = EventInputs(event=case.event, question=question, earlier=case.tendencies[:place])
            verdicts = judge_event(TendencyQuestion.kind, inputs)
            assert {v.label for v in verdicts} == {"keep"}, (question.text, verdicts)
            assert max(v.value or 0 for v in verdicts) < 0.9
