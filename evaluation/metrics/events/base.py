"""What metrics over questions about events share: they are told how questions are asked, and score one a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import TRUNCATED, Answers, CaseMean, Normalisation
from evaluation.metrics.events.probes import choice_probes, fact_probe
from evaluation.metrics.events.reading import chosen_option, is_right, short_answer
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import PooledMean
from schemas.answers import CaseScores, ItemScore
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.probes import Probe

Question = FactQuestion | TendencyQuestion


class EventMetric(CaseMean):
    """A metric over the questions of an event; the normalisation changes nothing, since letters are one token each.

    Attributes:
        asks: Which questions of a case count.

    Args:
        generation: How questions are asked: its ``events``.
    """

    version: ClassVar[int] = 1
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    takes: ClassVar[tuple[str, ...]] = ("event",)
    asks_for_texts: ClassVar[bool] = True
    asks: ClassVar[Callable[[EventCase], Sequence[Question]]]

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.choice = generation.events

    def questions(self, case: EventCase) -> Sequence[Question]:
        """The questions that count."""
        return type(self).asks(case)

    def probes(self, case: EventCase) -> list[Probe]:
        """All that these questions ask."""
        return [probe for question in self.questions(case) for probe in self.probes_of(question)]

    def probes_of(self, question: Question) -> list[Probe]:
        """What one question asks: its answer, or its options in every order."""
        if isinstance(question, FactQuestion):
            return [fact_probe(question, self.choice)]
        return list(choice_probes(question, self.choice))

    def item(self, question: Question, value: float | None, reason: str = "", *, tie: bool = False) -> ItemScore:
        """The score of a question, under the id of the first probe that asks it."""
        return ItemScore(probe=self.probes_of(question)[0].id, item=question.key, value=value, tie=tie, reason=reason)

    def right(self, question: Question, answers: Answers) -> ItemScore:
        """1 for the right answer, 0 for another; a tie between options is 0 and counted."""
        if isinstance(question, FactQuestion):
            text, why = short_answer(answers.get(self.probes_of(question)[0].id))
            value = None if text is None else float(is_right(question, text, self.choice))
            return self.item(question, value, why)
        option = chosen_option(question, answers, self.choice)
        if isinstance(option, str):
            return self.item(question, None, option)
        reason = TRUNCATED if option.truncated else ""
        return self.item(question, float(option.letter == question.answer), reason, tie=option.letter is None)


class QuestionMetric(EventMetric, PooledMean):
    """One value a question, pooled over all of them: the published question level (Q-level)."""

    def score(self, case: EventCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """The value of every question."""
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
