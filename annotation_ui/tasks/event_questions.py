"""Tasks about events: tendencies, what an event changes, paraphrases (ELKEN Appendix A, Table 12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from annotation_ui.tasks.base import Numbers, RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.forms import Answers, read_form
from schemas.core.ids import content_id
from schemas.core.records import Record
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.lineage import Lineage
from schemas.verdicts import Label

if TYPE_CHECKING:
    from curation.store.store import Store

SOURCE_HINT = "construct or import events first: scedit data construct-events"


def standing_events(store: Store) -> Iterator[Event]:
    """The events that no check has dropped (as the later of two that are alike), in order of keys."""
    dropped = {v.item_id for v in store.verdicts(stale=False) if v.label == "drop" and v.judged_by is None}
    yield from (event for event in store.all(Event) if event.id not in dropped)


def tendency_texts(question: TendencyQuestion, event: Event) -> dict[str, str]:
    """What is shown of a tendency question before anybody proposes an answer."""
    a, b, c = question.options
    return {"event": event.text, "question": question.text, "option_a": a, "option_b": b, "option_c": c}


def numbered_lines(texts: list[str]) -> str:
    r"""Texts as one block, a line each.

    Example:
        >>> numbered_lines(["Who leads it?", "Where is it?"])
        '1. Who leads it?\n2. Where is it?'
    """
    return "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))


class EventTask(RatingTask):
    """A task about events; agreement is reported apart for questions in scope and out of scope."""

    source_hint = SOURCE_HINT

    def part(self, item: TaskItem) -> str:
        """``in scope`` or ``out of scope``: nearly always one label in one of them says little of the other."""
        scope = item.stratum.partition(" ")[0]
        return f"{scope} of scope" if scope == "out" else "in scope" if scope == "in" else ""


NUMBERS = {"a": 1.0, "b": 2.0, "c": 3.0, "none": 0.0}


class AnswerTendency(EventTask):
    """Which option is likeliest? A campaign of its own, in one group with ``judge_tendency``, which comes after it."""

    about = "Answer tendency questions oneself, before judge_tendency shows the proposed answers"
    same_people = True
    form = read_form("answer_tendency")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every tendency question of the events that no check has dropped."""
        for event in standing_events(store):
            for question in store.of_parents(TendencyQuestion, [event.key]):
                yield TaskItem(
                    id=question.id,
                    case=event.key,
                    stratum=f"{question.scope} {event.type}",
                    shown=tendency_texts(question, event),
                    related=(event.id,),
                )

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """The answer as a measurement: 1 for (A) to 3 for (C), 0 where no option is likelier; it decides nothing.

        Marked words, where a campaign asks for them, stand in a verdict of their own.
        """
        checked = self.checked(item, answers)
        value, comment = NUMBERS[checked["own"]], str(checked.get("comment", ""))
        own = self.person_verdict(item.id, person, "own", value=value, unit="option", reason=comment)
        return [own, *self.marks(item.id, checked, person)]


RIGHT, WRONG, UNSURE = "right", "wrong", "unsure"
IMPOSSIBLE = "impossible_event"
"""The reason that holds for all questions of an event."""
LABELS: dict[str, Label] = {RIGHT: "keep", WRONG: "drop", UNSURE: "unsure"}
"""What an answer says of the question."""


class JudgeTendency(EventTask):
    """Is the proposed answer more likely than not? The event's other questions are shown, so that repeats are seen."""

    about = "Judge tendency questions with their proposed answers: right, wrong or unsure"
    after = ("answer_tendency",)
    same_people = True
    form = read_form("judge_tendency")
    numbers: ClassVar[Numbers] = {"label": {RIGHT: 1.0, WRONG: 0.0, UNSURE: 2.0}}

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every tendency question of the events that no check has dropped, with the proposed answer."""
        for event in standing_events(store):
            questions = store.of_parents(TendencyQuestion, [event.key])
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


class ReviewScope(EventTask):
    """Does the relation change for certain? One event stands for its template; nobody is told what the template says.

    The verdict is on every factual question of the triplet.
    """

    about = "Review what events of a template change, and what they leave alone"
    form = read_form("review_scope")
    numbers: ClassVar[Numbers] = {"change": {"certain": 1.0, "possible": 0.5, "none": 0.0}}

    def judged(self, item: TaskItem) -> tuple[str, ...]:
        """Every factual question of the triplet."""
        return item.related

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every triplet of the events that no check has dropped, with the first event that shows it."""
        questions: dict[ScopeTriplet, list[str]] = {}
        first: dict[ScopeTriplet, tuple[Event, FactQuestion]] = {}
        for event in standing_events(store):
            for question in store.of_parents(FactQuestion, [event.key]):
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


class ReviewParaphrase(EventTask):
    """Does an event still say what its template says? Its answers in scope are shown: the wording has to bear them."""

    about = "Review the wording of events: nothing lost, nothing added"
    form = read_form("review_paraphrase")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every event of a template that no check has dropped."""
        for event in standing_events(store):
            if event.template is None:
                continue
            answers = [
                f"{q.text} → {q.answer.text}" for q in store.of_parents(FactQuestion, [event.key]) if q.scope == "in"
            ]
            bare = bare_words(event, store.lineage(event.id))
            shown = {"bare": bare, "event": event.text, "answers": numbered_lines(answers)}
            yield TaskItem(
                id=event.id,
                case=event.key,
                stratum=event.type,
                shown={name: text for name, text in shown.items() if text},
            )


def bare_words(event: Event, lines: Sequence[Lineage]) -> str:
    """The words of an event's template, where its lineage knows them and they are others than the event's."""
    wordings = [str(line.detail[TEMPLATE_TEXT]) for line in lines if TEMPLATE_TEXT in line.detail]
    return wordings[-1] if wordings and wordings[-1] != event.text else ""
