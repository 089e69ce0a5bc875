"""Facts of events, right after the edit or unchanged by it: all, known, unknown, plain, background, locality."""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers, Role, row
from evaluation.metrics.events.base import Question, QuestionMetric, WholeEventMetric
from evaluation.metrics.events.reading import is_same, short_answer
from schemas.answers import ItemScore
from schemas.cases import EventCase
from schemas.events.questions import BackgroundQuestion, FactQuestion


def in_scope(case: EventCase) -> list[FactQuestion]:
    """Questions whose answer the event changes."""
    return [q for q in case.facts if q.scope == "in"]


def out_of_scope(case: EventCase) -> list[FactQuestion]:
    """Questions that the event leaves alone."""
    return [q for q in case.facts if q.scope == "out"]


def background_questions(case: EventCase) -> list[FactQuestion]:
    """The background questions of the questions in scope; one that several of them need is asked once."""
    different = {
        background.text.casefold(): _background_record(question, number, background)
        for question in reversed(in_scope(case))
        for number, background in enumerate(question.background_questions, start=1)
    }
    return [*reversed(different.values())]


EventFact = row(
    QuestionMetric,
    name="ev_fact",
    role="event_efficacy",
    title="Facts",
    about="Share of factual questions in scope that are answered right (ELKEN Table 2, Q-level)",
    asks=in_scope,
)


EventFactWhole = row(
    WholeEventMetric,
    name="ev_fact_edit",
    title="Facts, whole event",
    about="Share of events all of whose factual questions in scope are right (ELKEN Table 2, E-level)",
    asks=in_scope,
)


EventKnown = row(
    QuestionMetric,
    name="ev_known",
    title="Known",
    about="Share of factual questions with a new answer that are answered right (ELKEN Table 3)",
    asks=lambda case: [q for q in in_scope(case) if not q.unknown],
)


EventUnknown = row(
    QuestionMetric,
    name="ev_unknown",
    title="Unknown",
    about="Share of factual questions whose old answer is gone that are answered so (ELKEN Table 3)",
    asks=lambda case: [q for q in in_scope(case) if q.unknown],
)


EventBackground = row(
    QuestionMetric,
    name="ev_background",
    title="Background",
    about=(
        "Share of factual questions that need world knowledge beside the event that are answered right (ELKEN Table 4)"
    ),
    asks=lambda case: [q for q in in_scope(case) if q.background],
)


EventPlain = row(
    QuestionMetric,
    name="ev_plain",
    title="Plain",
    about="Share of factual questions that the event alone answers that are right (ELKEN Table 4)",
    asks=lambda case: [q for q in in_scope(case) if not q.background],
)


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

    asks = background_questions

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


class EventFactLocality(QuestionMetric):
    """Is the answer to a question out of scope the same before and after the edit (Table 2, facts, locality)?"""

    name: ClassVar[str] = "ev_fact_local"
    role: ClassVar[Role] = "event_locality"
    title: ClassVar[str] = "Facts, locality"
    about: ClassVar[str] = "Share of factual questions out of scope answered as before the edit (ELKEN Table 2)"
    unedited: ClassVar[float | None] = 1.0

    asks = out_of_scope

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
