"""Judge a tendency question with its proposed answer: right, wrong or unsure (ELKEN §2.3 and Table 12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import Numbers, RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.events.answer_tendency import scope_part
from annotation_ui.tasks.events.event_items import (
    SOURCE_HINT,
    numbered_lines,
    standing_events,
    tendencies_of,
    tendency_texts,
)
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.records import Record
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store

RIGHT, WRONG, UNSURE = "right", "wrong", "unsure"
IMPOSSIBLE = "impossible_event"
"""The reason that holds for all questions of an event."""
LABELS: dict[str, Label] = {RIGHT: "keep", WRONG: "drop", UNSURE: "unsure"}
"""What an answer says of the question."""


class JudgeTendency(RatingTask):
    """Is the proposed answer more likely than not? The event's other questions are shown, so that repeats are seen."""

    about = "Judge tendency questions with their proposed answers: right, wrong or unsure"
    after = ("answer_tendency",)
    same_people = True
    source_hint = SOURCE_HINT
    form = read_form("judge_tendency")
    numbers: ClassVar[Numbers] = {"label": {RIGHT: 1.0, WRONG: 0.0, UNSURE: 2.0}}

    def part(self, item: TaskItem) -> str:
        """``in scope`` or ``out of scope``: nearly always one label in one of them says little of the other."""
        return scope_part(item)

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every tendency question of the events that no check has dropped, with the proposed answer."""
        for event in standing_events(store):
            questions = tendencies_of(store, event)
            for question in questions:
                others = [q for q in questions if q.key != question.key]
                yield TaskItem(
                    id=question.id,
                    case=event.key,
                    stratum=f"{question.scope} {event.type}",
                    shown={
                        **tendency_texts(question, event),
                        "proposed": f"({question.answer}) {question.right_option}",
                        **({"siblings": numbered_lines([q.text for q in others])} if others else {}),
                    },
                    related=(event.id, *(q.id for q in others)),
                )

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Those of the form, and a question about an impossible event that is not unsure."""
        faults, label = super().faults(item, answers), answers.get("label")
        if faults or label == UNSURE or IMPOSSIBLE not in (answers.get("reasons") or ()):
            return faults
        return [f"'label' is {label} though the event is impossible: then the question is {UNSURE}"]

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """``keep``, ``drop`` or ``unsure``, with the reasons."""
        label = LABELS[answers["label"]]
        reason = join_reasons(", ".join(answers.get("reasons", [])), answers.get("comment"))
        return label, reason or ("the proposed answer is wrong" if label == "drop" else "")

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """The verdict and the number that ELKEN gives the label.

        If the event is impossible, its other questions are ``unsure`` too, whatever is said of them.
        """
        out = super().records(item, answers, person=person)
        if IMPOSSIBLE in (answers.get("reasons") or ()):
            for sibling in item.related[1:]:  # the event itself comes first
                out.append(self.person_verdict(sibling, person, IMPOSSIBLE, label="unsure", reason=IMPOSSIBLE))
        return out
