"""Review what events of a template change and what they leave alone, triplet by triplet (ELKEN §2.2, Appendix A.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from annotation_ui.tasks.base import Numbers, RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.events.answer_tendency import scope_part
from annotation_ui.tasks.events.event_items import SOURCE_HINT, facts_of, standing_events
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.ids import content_id
from schemas.events.event import Event
from schemas.events.questions import FactQuestion
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store


class ScopeTriplet(NamedTuple):
    """What a template says of one relation of one role: the unit that people review.

    Attributes:
        template: Name of the template; the event type where there is none.
        role: Whose relation; empty where the subject fills no role.
        relation: Its id.
        scope: ``in`` where the template has it changed.
        unknown: The old object is gone and no new one is given.
        background: The new object needs world knowledge.
    """

    template: str
    role: str
    relation: str
    scope: str
    unknown: bool
    background: bool


def triplet_of(event: Event, question: FactQuestion) -> ScopeTriplet:
    """The triplet that a factual question was made of."""
    subject = question.subject
    names = set(subject.names) if subject is not None else set[str]()
    role = next((filled.role for filled in event.roles if names & set(filled.entity.names)), "")
    return ScopeTriplet(
        event.template or event.type, role, question.relation.id, question.scope, question.unknown, question.background
    )  # fmt: skip


class ReviewScope(RatingTask):
    """Does the relation change for certain? One event stands for its template; nobody is told what the template says.

    The verdict is on every factual question of the triplet.
    """

    about = "Review what events of a template change, and what they leave alone"
    source_hint = SOURCE_HINT
    form = read_form("review_scope")
    numbers: ClassVar[Numbers] = {"change": {"certain": 1.0, "possible": 0.5, "none": 0.0}}

    def part(self, item: TaskItem) -> str:
        """``in scope`` or ``out of scope``."""
        return scope_part(item)

    def judged(self, item: TaskItem) -> tuple[str, ...]:
        """Every factual question of the triplet."""
        return item.related

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every triplet of the events that no check has dropped, with the first event that shows it."""
        questions: dict[ScopeTriplet, list[str]] = {}
        first: dict[ScopeTriplet, tuple[Event, FactQuestion]] = {}
        for event in standing_events(store):
            for question in facts_of(store, event):
                triplet = triplet_of(event, question)
                questions.setdefault(triplet, []).append(question.id)
                first.setdefault(triplet, (event, question))
        for triplet, (event, question) in first.items():
            shown = {
                "event": event.text,
                "role": triplet.role if len(triplet.role) > 2 else "",  # "A" tells people nothing
                "subject": question.subject.text if question.subject is not None else "",
                "relation": question.relation.label,
                "question": question.text,
                "answer": question.answer.text,
            }
            yield TaskItem(
                id=content_id("scope triplet", list(triplet)),
                case=f"template/{triplet.template}",
                stratum=f"{triplet.scope} {triplet.template}",
                shown={name: text for name, text in shown.items() if text},
                related=tuple(questions[triplet]),
            )

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """``drop`` where the person says the opposite of the template or the answer is wrong, ``unsure`` for perhaps.

        Other relations that change are part of the reason.
        """
        label, why = _label(item.stratum.partition(" ")[0], answers)
        missing = "; ".join(line.strip() for line in str(answers.get("missing", "")).splitlines() if line.strip())
        return label, join_reasons(why, f"also changes: {missing}" if missing else "", answers.get("comment"))


def _label(scope: str, answers: Answers) -> tuple[Label, str]:
    """What the answers say of questions in this scope."""
    if answers["right"] == "no":
        return "drop", "the answer is wrong"
    if answers["change"] == "possible":
        return "unsure", "perhaps it changes"
    proposed = "certain" if scope == "in" else "none"
    if answers["change"] != proposed:
        return "drop", "it does not change" if scope == "in" else "it changes"
    return "keep", ""
