"""Facts of events, right after the edit or unchanged by it: all, known, unknown, plain, background, locality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import Answers, Role
from evaluation.metrics.events.base import Question, QuestionMetric, WholeEventMetric
from evaluation.metrics.events.reading import is_same, short_answer
from schemas.answers import ItemScore
from schemas.cases import EventCase
from schemas.events.questions import BackgroundQuestion, FactQuestion


def in_scope(case: EventCase) -> list[FactQuestion]:
    """Questions whose answer the event changes."""
    return [q for q in case.facts if q.scope == "in"]


class EventFact(QuestionMetric):
    """Is the answer right after the edit: the name, an alias, or that it is unknown (Table 2, facts, Q-level)?"""

    name: ClassVar[str] = "ev_fact"
    role: ClassVar[Role] = "event_efficacy"
    title: ClassVar[str] = "Facts"
    about: ClassVar[str] = "Share of factual questions in scope that are answered right (ELKEN Table 2, Q-level)"

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those in scope."""
        return in_scope(case)


class EventFactWhole(WholeEventMetric):
    """Are all factual questions in scope of the event right (Table 2, facts, E-level)?"""

    name: ClassVar[str] = "ev_fact_edit"
    title: ClassVar[str] = "Facts, whole event"
    about: ClassVar[str] = "Share of events all of whose factual questions in scope are right (ELKEN Table 2, E-level)"

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those in scope."""
        return in_scope(case)


class EventKnown(EventFact):
    """The same of questions that have a new answer (Table 3)."""

    name: ClassVar[str] = "ev_known"
    role: ClassVar[Role] = "other"
    title: ClassVar[str] = "Known"
    about: ClassVar[str] = "Share of factual questions with a new answer that are answered right (ELKEN Table 3)"

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those in scope with an answer."""
        return [q for q in in_scope(case) if not q.unknown]


class EventUnknown(EventFact):
    """The same of questions whose old answer is gone (Table 3): the recall of "unknown"."""

    name: ClassVar[str] = "ev_unknown"
    role: ClassVar[Role] = "other"
    title: ClassVar[str] = "Unknown"
    about: ClassVar[str] = "Share of factual questions whose old answer is gone that are answered so (ELKEN Table 3)"

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those in scope without an answer."""
        return [q for q in in_scope(case) if q.unknown]


class EventBackground(EventFact):
    """The same of questions that need world knowledge beside the event (Table 4)."""

    name: ClassVar[str] = "ev_background"
    role: ClassVar[Role] = "other"
    title: ClassVar[str] = "Background"
    about: ClassVar[str] = (
        "Share of factual questions that need world knowledge beside the event that are answered right (ELKEN Table 4)"
    )

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those in scope that need background, unknown ones among them."""
        return [q for q in in_scope(case) if q.background]


class EventRecall(QuestionMetric):
    """Does the unedited model know what background questions ask for (Table 4, "recall")? They never see the event.

    The value comes from the answers before the edit, so it is the same for all methods: it says how much of what
    ``ev_background`` misses the model could have known.
    """

    name: ClassVar[str] = "ev_recall"
    role: ClassVar[Role] = "other"
    title: ClassVar[str] = "Recall"
    about: ClassVar[str] = (
        "Share of background questions that the unedited model answers right, without the event (ELKEN Table 4, recall)"
    )

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """The background questions of the questions in scope; one that several of them need is asked once."""
        different = {
            background.text.casefold(): _background_record(question, number, background)
            for question in reversed(in_scope(case))
            for number, background in enumerate(question.background_questions, start=1)
        }
        return [*reversed(different.values())]

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """1 for the right answer before the edit."""
        return self.right(question, before)


def _background_record(question: FactQuestion, number: int, asked: BackgroundQuestion) -> FactQuestion:
    """A background question as a question out of scope: its answer holds before and after the edit."""
    return FactQuestion(
        key=f"{question.key}/background/{number}",
        event=question.event,
        text=asked.text,
        relation=question.relation,
        answer=asked.answer,
        scope="out",
    )


class EventPlain(EventFact):
    """The same of questions that the event alone answers (Table 4)."""

    name: ClassVar[str] = "ev_plain"
    role: ClassVar[Role] = "other"
    title: ClassVar[str] = "Plain"
    about: ClassVar[str] = "Share of factual questions that the event alone answers that are right (ELKEN Table 4)"

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those in scope that need no background, unknown ones among them."""
        return [q for q in in_scope(case) if not q.background]


class EventFactLocality(QuestionMetric):
    """Is the answer to a question out of scope the same before and after the edit (Table 2, facts, locality)?"""

    name: ClassVar[str] = "ev_fact_local"
    role: ClassVar[Role] = "event_locality"
    title: ClassVar[str] = "Facts, locality"
    about: ClassVar[str] = "Share of factual questions out of scope answered as before the edit (ELKEN Table 2)"
    unedited: ClassVar[float | None] = 1.0

    def questions(self, case: EventCase) -> Sequence[FactQuestion]:
        """Those out of scope."""
        return [q for q in case.facts if q.scope == "out"]

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """1 for the same answer; names of the given answer count as one, and so does every way to say unknown."""
        assert isinstance(question, FactQuestion)
        probe = self.probes_of(question)[0].id
        (now, why), (then, why_then) = short_answer(after.get(probe)), short_answer(before.get(probe))
        if now is None:
            return self.item(question, None, why)
        if then is None:
            return self.item(question, None, f"before the edit: {why_then}")
        return self.item(question, float(is_same(question, now, then, self.choice)))
