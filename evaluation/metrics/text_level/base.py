"""What metrics over written texts share: one value a text, texts that are missing unscored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from evaluation.metrics.base import Answers, CaseMean, Normalisation, Role, item_without_value
from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.probes import scripts_for
from schemas.answers import Answer, CaseScores, GeneratedText, ItemScore
from schemas.cases import Case
from schemas.probes import GenerateProbe

UNFINISHED = "the thought has no end: there is no answer"
"""Why a text of a model that thinks first has no value."""


class WrittenMetric(CaseMean):
    """One value for every text of a case; by default the scripts that answer its questions.

    Args:
        generation: How texts are written; decides the probes.
    """

    role: ClassVar[Role] = "text"
    asks_for_texts: ClassVar[bool] = True
    measure: ClassVar[Callable[[Case, GeneratedText], float | str]]

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.generation = generation

    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        """The scripts of every question."""
        return scripts_for(case, self.generation)

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float | str:
        """The text's value, or why it has none; where it takes the case and the text alone, that is ``measure``."""
        return type(self).measure(case, written)

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """Values of all texts; a text that was not written has none. The normalisation changes nothing."""
        items = tuple(self._item(case, p, after.get(p.id)) for p in self.probes(case))
        return CaseScores(case=case.key, metric=self.name, items=items)

    def _item(self, case: Case, probe: GenerateProbe, answer: Answer | None) -> ItemScore:
        written = text_of(answer)
        if isinstance(written, str):
            return item_without_value(probe, written)
        value = self.value(case, probe, written)
        if isinstance(value, str):
            return item_without_value(probe, value)
        return ItemScore(probe=probe.id, item=probe.item, cluster=probe.cluster, value=value)


def text_of(answer: Answer | None) -> GeneratedText | str:
    """The written text, or why there is none."""
    if answer is None:
        return "no answer"
    if answer.error is not None:
        return answer.error
    if answer.written is None:
        return "the answer holds no text"
    return UNFINISHED if answer.written.unfinished else answer.written


def texts_around(after: Answer | None, before: Answer | None) -> tuple[GeneratedText, GeneratedText] | str:
    """The texts written after and before the edit, or why one of them is missing."""
    now, then = text_of(after), text_of(before)
    if isinstance(now, str):
        return now
    return f"before the edit: {then}" if isinstance(then, str) else (now, then)
