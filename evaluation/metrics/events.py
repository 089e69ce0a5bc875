"""Metrics over questions about events (event-level editing, ELKEN §4.1): facts, tendencies, whole events.

Tendencies by choice among three options (T-M); what is written is read in ``event_answers``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from typing_extensions import override

from evaluation.metrics.base import (
    TRUNCATED,
    Answers,
    Metric,
    Normalisation,
    Role,
    after_and_before,
    row,
)
from evaluation.metrics.event_questions import (
    ChosenOption,
    choice_probes,
    chosen_option,
    fact_probe,
    fold_answer,
    is_right,
    is_same,
)
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import PooledMean
from evaluation.metrics.text_level import text_of
from schemas.answers import Answer, CaseScores, ItemScore
from schemas.cases import EventCase
from schemas.events.questions import BackgroundQuestion, FactQuestion, TendencyQuestion
from schemas.probes import Probe

Question = FactQuestion | TendencyQuestion


class EventMetric(Metric):
    """A metric over the questions of an event; the normalisation changes nothing, since letters are one token each.

    Attributes:
        asks: Which questions of a case count.

    Args:
        generation: How questions are asked: its ``events``.
    """

    takes: ClassVar[tuple[str, ...]] = ("event",)
    asks_for_texts: ClassVar[bool] = True
    asks: ClassVar[Callable[[EventCase], Sequence[Question]]]

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.choice = generation.events

    def questions(self, case: EventCase) -> Sequence[Question]:
        """The questions that count."""
        return type(self).asks(case)

    @override
    def probes(self, case: EventCase) -> list[Probe]:
        return [probe for question in self.questions(case) for probe in self.probes_of(question)]

    def probes_of(self, question: Question) -> list[Probe]:
        """What one question asks."""
        if isinstance(question, FactQuestion):
            return [fact_probe(question, self.choice)]
        return self.tendency_probes(question)

    def tendency_probes(self, question: TendencyQuestion) -> list[Probe]:
        """What a tendency question asks; here: its options in every order."""
        return list(choice_probes(question, self.choice))

    def item(self, question: Question, value: float | None, reason: str = "", *, tie: bool = False) -> ItemScore:
        """The score of a question, under the id of the first probe that asks it."""
        return ItemScore(probe=self.probes_of(question)[0].id, item=question.key, value=value, tie=tie, reason=reason)

    def right(self, question: Question, answers: Answers) -> ItemScore:
        """1 for the right answer, 0 for another."""
        if not isinstance(question, FactQuestion):
            return self.right_tendency(question, answers)
        written = text_of(answers.get(self.probes_of(question)[0].id))
        if isinstance(written, str):
            return self.item(question, None, written)
        return self.item(question, float(is_right(question, fold_answer(written.text), self.choice)))

    def right_tendency(self, question: TendencyQuestion, answers: Answers) -> ItemScore:
        """1 for the right option, 0 for another; a tie between options is 0 and counted."""
        option = chosen_option(question, answers, self.choice)
        if isinstance(option, str):
            return self.item(question, None, option)
        reason = TRUNCATED if option.truncated else ""
        return self.item(question, float(option.letter == question.answer), reason, tie=option.letter is None)


class QuestionMetric(EventMetric, PooledMean):
    """One value a question, pooled over all of them: the published question level (Q-level)."""

    @override
    def score(self, case: EventCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        items = tuple(self.value(question, after, before) for question in self.questions(case))
        return CaseScores(case=case.key, metric=self.name, items=items)

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """The score of one question; here: whether the answer is right."""
        return self.right(question, after)


class WholeEventMetric(EventMetric):
    """One value an event: whether all its questions are right, the published edit level (E-level)."""

    def score(self, case: EventCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """1 where all are right, 0 where one is wrong, unscored where the rest is not known; no item without question.

        An event is the more easily wrong the more questions it has: the report shows this by their number.
        """
        items = [self.right(question, after) for question in self.questions(case)]
        if not items:
            return CaseScores(case=case.key, metric=self.name, items=())
        lost = next((i.reason for i in items if i.value is None), None)
        wrong = any(i.value == 0 for i in items)
        value = 0.0 if wrong else None if lost is not None else 1.0
        cut = TRUNCATED if any(i.reason == TRUNCATED for i in items) else ""
        item = ItemScore(
            probe=case.event.key,
            item=case.event.key,
            value=value,
            tie=any(i.tie for i in items),
            reason=(lost or "") if value is None else cut,
        )
        return CaseScores(case=case.key, metric=self.name, items=(item,))


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

    @override
    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
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


class WrittenLocality(QuestionMetric):
    """Does the model write the same before and after the edit, out of scope (ELKEN Table 2, locality)?"""

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """What ``compare`` says of the two texts; unscored where one is missing."""
        probe = self.probes_of(question)[0].id
        texts = after_and_before(text_of(after.get(probe)), text_of(before.get(probe)))
        if isinstance(texts, str):
            return self.item(question, None, texts)
        now, then = texts
        return self.compare(question, now.text, then.text, after.get(probe))

    def compare(self, question: Question, now: str, then: str, answer: Answer | None) -> ItemScore:
        """The score of the text after the edit (``now``) beside the one before it; ``answer`` holds its ratings."""
        raise NotImplementedError


class EventFactLocality(WrittenLocality):
    """Is the answer to a question out of scope the same before and after the edit (Table 2, facts, locality)?"""

    name: ClassVar[str] = "ev_fact_local"
    role: ClassVar[Role] = "event_locality"
    title: ClassVar[str] = "Facts, locality"
    about: ClassVar[str] = "Share of factual questions out of scope answered as before the edit (ELKEN Table 2)"
    unedited: ClassVar[float | None] = 1.0

    asks = out_of_scope

    def compare(self, question: Question, now: str, then: str, answer: Answer | None) -> ItemScore:
        """1 for the same answer; names of the given answer count as one, and so does every way to say unknown."""
        assert isinstance(question, FactQuestion)
        return self.item(question, float(is_same(question, fold_answer(now), fold_answer(then), self.choice)))


def tendencies_in_scope(case: EventCase) -> list[TendencyQuestion]:
    """Questions whose answer the event decides."""
    return [q for q in case.tendencies if q.scope == "in"]


def tendencies_out_of_scope(case: EventCase) -> list[TendencyQuestion]:
    """Questions that the event leaves alone."""
    return [q for q in case.tendencies if q.scope == "out"]


def all_in_scope(case: EventCase) -> list[Question]:
    """All questions in scope, of events with a tendency question in scope."""
    tendencies = tendencies_in_scope(case)
    return [*in_scope(case), *tendencies] if tendencies else []


EventChoiceRight = row(
    QuestionMetric,
    name="ev_choice",
    role="event_tendency",
    title="Tendencies",
    about=(
        "Share of tendency questions in scope whose right option is the most probable, over the orders of the options "
        "(ELKEN Table 2, T-M, Q-level)"
    ),
    asks=tendencies_in_scope,
)


EventChoiceWhole = row(
    WholeEventMetric,
    name="ev_choice_edit",
    title="Tendencies, whole event",
    about="Share of events all of whose tendency questions in scope are right (ELKEN Table 2, E-level)",
    asks=tendencies_in_scope,
)


# The published column "overall" takes open answers in the place of choices.
EventAllWhole = row(
    WholeEventMetric,
    name="ev_all_choice_edit",
    title="Whole event",
    about=(
        "Share of events with tendency questions all of whose questions in scope are right, facts and choices (as "
        "ELKEN Table 2, overall, with choices for open answers)"
    ),
    asks=all_in_scope,
)


def all_tendencies(case: EventCase) -> Sequence[TendencyQuestion]:
    """Questions in scope and out of it."""
    return case.tendencies


class ChoiceValue(QuestionMetric):
    """A value of the choice that is made in a question: ``of_choice``, a number from 0 to 1."""

    of_choice: ClassVar[Callable[[ChosenOption], float]]

    asks = all_tendencies

    @override
    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        assert isinstance(question, TendencyQuestion)
        option = chosen_option(question, after, self.choice)
        if isinstance(option, str):
            return self.item(question, None, option)
        return self.item(question, type(self).of_choice(option), TRUNCATED if option.truncated else "")


class EventChoiceLocality(ChoiceValue):
    """Is the same option the most probable before and after the edit, out of scope (Table 2, T-M, locality)?

    Options are compared, not first lines of written answers, which also differ in their form.
    """

    name: ClassVar[str] = "ev_choice_local"
    title: ClassVar[str] = "Tendencies, locality"
    about: ClassVar[str] = "Share of tendency questions out of scope with the same option as before (ELKEN Table 2)"

    asks = tendencies_out_of_scope

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """1 for the same option; a tie is no option, and the same as nothing."""
        assert isinstance(question, TendencyQuestion)
        both = after_and_before(*(chosen_option(question, answers, self.choice) for answers in (after, before)))
        if isinstance(both, str):
            return self.item(question, None, both)
        now, then = both
        same = now.letter is not None and now.letter == then.letter
        reason = TRUNCATED if now.truncated or then.truncated else ""
        return self.item(question, float(same), reason, tie=now.letter is None or then.letter is None)


# How much of its probability does the model give to the three letters together?
EventChoiceMass = row(
    ChoiceValue,
    name="ev_choice_mass",
    title="Letters",
    about="Joint probability of the three letters: where it is small, the model would answer something else",
    of_choice=lambda chosen: min(chosen.mass, 1.0),
)


# Does the choice follow the letter, so that another order of the options has another one chosen?
EventChoiceSway = row(
    ChoiceValue,
    name="ev_choice_sway",
    title="Order sways",
    about="Share of tendency questions whose chosen option depends on the order of the options",
    better="lower",
    of_choice=lambda chosen: float(len(set(chosen.by_order)) > 1),
)
