"""Judge a tendency question with its proposed answer: right, wrong or unsure (ELKEN §2.3 and Table 12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import RatingTask, TaskItem, person_verdict
from annotation_ui.tasks.events.answer_tendency import scope_part
from annotation_ui.tasks.events.event_items import (
    SOURCE_HINT,
    numbered_lines,
    standing_events,
    tendencies_of,
    tendency_texts,
)
from annotation_ui.tasks.forms import Answers, Field, read_form
from annotation_ui.tasks.spans import stored_spans
from schemas.core.records import Record
from schemas.verdicts import Label, Verdict

if TYPE_CHECKING:
    from curation.store.store import Store

RIGHT, WRONG, UNSURE = "right", "wrong", "unsure"
IMPOSSIBLE = "impossible_event"
"""The reason that holds for all questions of an event."""
LABELS: dict[str, tuple[Label, float]] = {RIGHT: ("keep", 1.0), WRONG: ("drop", 0.0), UNSURE: ("unsure", 2.0)}
"""What an answer says of the question, and the number that ELKEN gives it."""
SUGGESTED = {"stands_alone": "wording", "options_differ": "wording", "repeats_sibling": "repeats"}
"""The reason to be unsure that a check's objection suggests."""


class JudgeTendency(RatingTask):
    """Is the proposed answer more likely than not? The event's other questions are shown, so that repeats are seen."""

    about = "Judge tendency questions with their proposed answers: right, wrong or unsure"
    after = ("answer_tendency",)
    same_people = True
    source_hint = SOURCE_HINT
    form = read_form("judge_tendency")

    def part(self, item: TaskItem) -> str:
        """``in scope`` or ``out of scope``: nearly always one label in one of them says little of the other."""
        return scope_part(item)

    def answer_of(self, field: Field, value: float) -> Any:
        """The label of a stored number."""
        return next(name for name, (_, number) in LABELS.items() if number == value)

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

    def suggest(self, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """Unsure, with its reasons, where checks object to the question."""
        raised = [v.check for v in verdicts if v.label in ("drop", "unsure") and v.judged_by is None]
        reasons = list(dict.fromkeys(SUGGESTED[check] for check in raised if check in SUGGESTED))
        return {"label": UNSURE, "reasons": reasons} if reasons else {}

    def faults(self, item: TaskItem, answers: Answers) -> list[str]:
        """Those of the form, and a question about an impossible event that is not unsure."""
        faults, label = super().faults(item, answers), answers.get("label")
        if faults or label == UNSURE or IMPOSSIBLE not in (answers.get("reasons") or ()):
            return faults
        return [f"'label' is {label} though the event is impossible: then the question is {UNSURE}"]

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep``, ``drop`` or ``unsure`` with the reasons, and the number that ELKEN gives the label.

        Where the event is impossible, its other questions are ``unsure`` too, whatever is said of them.
        """
        checked = self.checked(item, answers)
        label, number = LABELS[checked["label"]]
        reason = "; ".join(x for x in (", ".join(checked.get("reasons", [])), str(checked.get("comment", ""))) if x)
        reason = reason or ("the proposed answer is wrong" if label == "drop" else "")
        spans = stored_spans(self.form, checked)
        name, version = self.form.name, self.form.version
        impossible = IMPOSSIBLE in checked.get("reasons", [])
        siblings = item.related[1:] if impossible else ()  # the event itself stands first
        return [
            person_verdict(name, version, item.id, person, label=label, reason=reason, spans=spans),
            person_verdict(f"{name}_label", version, item.id, person, value=number, unit="label"),
            *(
                person_verdict(f"{name}_{IMPOSSIBLE}", version, sibling, person, label="unsure", reason=IMPOSSIBLE)
                for sibling in siblings
            ),
        ]
