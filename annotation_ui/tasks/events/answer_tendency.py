"""The own answer to a tendency question, asked before anybody is shown the proposed one: shown answers anchor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.events.event_items import SOURCE_HINT, standing_events, tendencies_of, tendency_texts
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.records import Record

if TYPE_CHECKING:
    from curation.store.store import Store

NUMBERS = {"a": 1.0, "b": 2.0, "c": 3.0, "none": 0.0}


class AnswerTendency(RatingTask):
    """Which option is likeliest? A campaign of its own, in one group with ``judge_tendency``, which comes after it."""

    about = "Answer tendency questions oneself, before judge_tendency shows the proposed answers"
    same_people = True
    source_hint = SOURCE_HINT
    form = read_form("answer_tendency")

    def part(self, item: TaskItem) -> str:
        """``in scope`` or ``out of scope``."""
        return scope_part(item)

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every tendency question of the events that no check has dropped."""
        for event in standing_events(store):
            for question in tendencies_of(store, event):
                yield TaskItem(
                    id=question.id,
                    case=event.key,
                    stratum=f"{question.scope} {event.type}",
                    shown=tendency_texts(question, event),
                    related=(event.id,),
                )

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """The answer as a measurement: 1 for (A) to 3 for (C), 0 where no option is likelier; it decides nothing."""
        checked = self.checked(item, answers)
        value, comment = NUMBERS[checked["own"]], str(checked.get("comment", ""))
        return [self.person_verdict(item.id, person, "own", value=value, unit="option", reason=comment)]


def scope_part(item: TaskItem) -> str:
    """The part of an item by its scope, for agreement; control items have none."""
    scope = item.stratum.partition(" ")[0]
    return f"{scope} of scope" if scope == "out" else "in scope" if scope == "in" else ""
