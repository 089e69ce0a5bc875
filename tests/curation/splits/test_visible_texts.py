from __future__ import annotations

from collections.abc import Callable

import pytest

from curation.shipped import mini_split
from curation.splits.split_file import make_split
from curation.splits.versions import diff
from curation.splits.visible_texts import case_records, record_keys, visible_texts
from schemas.cases import EventCase
from schemas.facts import Source
from tests.support.events import event_case, make_event

CASE = event_case()


def test_every_record_of_a_case_comes_once_and_the_edit_first() -> None:
    records = list(case_records(CASE))
    assert records[0] == CASE.event and len(records) == 1 + len(CASE.facts) + len(CASE.tendencies)
    assert list(record_keys(CASE)) == [r.key for r in records] and len({r.key for r in records}) == len(records)
    case = mini_split().cases[0]
    kinds = [r.kind for r in case_records(case)]
    assert kinds[0] == "fact" and kinds.count("fact") == 1 + len(case.neighbours) == 1 + kinds.count("neighbour")


def changed(part: str, place: int, **fields: object) -> Callable[[EventCase], EventCase]:
    def change(case: EventCase) -> EventCase:
        questions = list(getattr(case, part))
        questions[place] = questions[place].model_copy(update=fields)
        return case.model_copy(update={part: tuple(questions)})

    return change


@pytest.mark.parametrize(
    ("change", "level"),
    [
        (changed("facts", 0, text="Which firm runs it?"), "major"),
        (changed("facts", 0, background=True), "major"),
        (changed("facts", 0, answer=CASE.facts[0].answer.model_copy(update={"aliases": ("AR",)})), "major"),
        (changed("tendencies", 0, answer="B"), "major"),
        (changed("tendencies", 0, options=("Up", "Down", "Level")), "major"),
        (changed("tendencies", 1, scope="in"), "major"),
        (lambda c: c.model_copy(update={"event": make_event(text="They split.")}), "major"),
        (lambda c: c.model_copy(update={"facts": c.facts[1:]}), "major"),
        (lambda c: c.model_copy(update={"event": make_event(source=Source(name="n", licence="CC0"))}), "patch"),
        (changed("tendencies", 0, about_event_subject=True), "patch"),
    ],
)
def test_what_a_run_or_a_person_sees_of_an_event_is_never_a_patch(
    change: Callable[[EventCase], EventCase], level: str
) -> None:
    old, new = make_split("s", [CASE]), make_split("s", [change(CASE)], version="1.0.1")
    assert diff(old, new).level == level


def test_another_question_is_a_minor_change() -> None:
    before, after = event_case(facts=CASE.facts[:2]), CASE
    assert visible_texts(before).items() < visible_texts(after).items()
    assert diff(make_split("s", [before]), make_split("s", [after])).level == "minor"
