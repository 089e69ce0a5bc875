"""Specificity (MULFE §4.3): questions that the model answered before, asked after every edit; the same for all cases.

They belong to a state of the model, not to a case: a metric here names what it asks when a case's edit is the first of
those that stand in the model, and the runner queries that once a state (``evaluation.runs.runner``).
"""

from __future__ import annotations

from typing import ClassVar

from evaluation.metrics.base import Answers, CaseMean, Normalisation, Role
from evaluation.metrics.documents.base import Better, read_answer
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import PooledMean, PooledPerplexity
from schemas.answers import CaseScores, ItemScore
from schemas.cases import AnyCase
from schemas.probes import ScoreProbe


class SharedMetric(CaseMean):
    """A metric on questions that all cases share.

    Args:
        generation: Its ``shared`` questions; without any nothing is asked.
    """

    version: ClassVar[int] = 1
    takes: ClassVar[tuple[str, ...]] = ("document",)
    asks_for_texts: ClassVar[bool] = True
    shared: ClassVar[bool] = True

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.questions = generation.shared

    def probes(self, case: AnyCase) -> list[ScoreProbe]:
        """What is asked where this case's edit is the first of those in the model."""
        return [] if self.questions is None else list(self.questions.drawn(case.key))

    def score(self, case: AnyCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """The value of every question; no item where the state of the model was asked with another case."""
        probes = self.probes(case)
        items = [self.value(probe, after) for probe in probes] if any(p.id in after for p in probes) else []
        return CaseScores(case=case.key, metric=self.name, items=tuple(items))

    def value(self, probe: ScoreProbe, after: Answers) -> ItemScore:
        """The score of one question; defined by the metric."""
        raise NotImplementedError


class SpecificityMatch(SharedMetric, PooledMean):
    """Does the model still answer what it answered before (Table 2, specificity EM)?"""

    name: ClassVar[str] = "em_spec"
    role: ClassVar[Role] = "document_locality"
    title: ClassVar[str] = "EM, specificity"
    about: ClassVar[str] = "EM of questions that the unedited model answers, after every edit (MULFE Table 2)"
    better: ClassVar[Better] = "higher"

    def value(self, probe: ScoreProbe, after: Answers) -> ItemScore:
        """1 where all tokens of the answer are the most probable ones, else 0."""
        read, why = read_answer(probe, after)
        value = None if read is None or read.greedy is None else float(read.greedy)
        return ItemScore(probe=probe.id, item=probe.item, value=value, reason=why)


class SpecificityPerplexity(SharedMetric, PooledPerplexity):
    """How surprising these answers have become (Table 2, specificity PPL)."""

    name: ClassVar[str] = "ppl_spec"
    title: ClassVar[str] = "PPL, specificity"
    about: ClassVar[str] = "Perplexity of answers that the unedited model gives, after every edit (MULFE Table 2)"

    def value(self, probe: ScoreProbe, after: Answers) -> ItemScore:
        """Negative log-probability per token, weighted with the answer's tokens."""
        read, why = read_answer(probe, after)
        if read is None:
            return ItemScore(probe=probe.id, item=probe.item, value=None, reason=why)
        return ItemScore(probe=probe.id, item=probe.item, value=-read.value("mean"), weight=read.tokens, reason=why)
