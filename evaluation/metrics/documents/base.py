"""What metrics over probes of documents share: which probes count, and one item a probe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Literal

from evaluation.metrics.base import TRUNCATED, Answers, CaseMean, Normalisation, target_values
from evaluation.metrics.documents.probes import answer_probe
from evaluation.metrics.generation import Generation
from schemas.answers import CaseScores, ItemScore, TargetScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe, Level, is_literal
from schemas.documents.statement import KEPT, Group
from schemas.probes import Probe, ScoreProbe

SEVERAL_BLANKS = "the query has several blanks and one answer"


class DocumentMetric(CaseMean):
    """A metric over probes of a document; the normalisation changes nothing.

    Attributes:
        level: Only probes of this level; None for all, those without a level among them.
        literal: Only probes that stand in their document word for word (the definition of level 1).
        group: Only probes of this group; None for all but those whose answers an edit should leave alone.

    Args:
        generation: How probes are asked: its ``documents``.
    """

    version: ClassVar[int] = 1
    takes: ClassVar[tuple[str, ...]] = ("document",)
    asks_for_texts: ClassVar[bool] = True
    level: ClassVar[Level | None] = None
    literal: ClassVar[bool] = False
    group: ClassVar[Group | None] = None

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.choice = generation.documents

    def asked(self, case: DocumentCase) -> Sequence[DocumentProbe]:
        """The case's probes that count, those with several blanks among them: they are unscored."""
        return [
            probe
            for probe in case.probes
            if self.level in (None, probe.level)
            and (probe.group == self.group if self.group is not None else probe.group not in KEPT)
            and (not self.literal or is_literal(probe, case.document))
        ]

    def probe_of(self, probe: DocumentProbe) -> Probe:
        """What one probe asks a model."""
        return answer_probe(probe, self.choice)

    def probes(self, case: DocumentCase) -> list[Probe]:
        """What all probes that count ask, but those with several blanks."""
        return [self.probe_of(probe) for probe in self.asked(case) if probe.blanks < 2]

    def score(self, case: DocumentCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """The value of every probe that counts."""
        items = tuple(self._item(probe, after, before) for probe in self.asked(case))
        return CaseScores(case=case.key, metric=self.name, items=tuple(item for item in items if item is not None))

    def _item(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        if probe.blanks > 1:
            return ItemScore(probe=probe.key, item=probe.key, value=None, reason=SEVERAL_BLANKS)
        return self.value(probe, after, before)

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """The score of one probe, or None where it does not count; defined by the metric."""
        raise NotImplementedError


def unless_known(then: ItemScore | None, value: Callable[[], ItemScore | None]) -> ItemScore | None:
    """The value of a probe that the unedited model does not answer.

    Args:
        then: Its value before the edit; 1 where the model answers it.
        value: The value after the edit.

    Returns:
        None of a probe that was answered before; unscored where that is not known.
    """
    if then is None or then.value == 1.0:
        return None
    if then.value is None:
        return then.model_copy(update={"reason": f"before the edit: {then.reason}"})
    return value()


class NotKnownBefore(DocumentMetric):
    """Only probes that the unedited model does not answer."""

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """As for all; None where the unedited model answers it, unscored where that is not known."""
        then = super().value(probe, before, before)
        return unless_known(then, partial(super().value, probe, after, before))


def read_answer(asked: ScoreProbe, answers: Answers) -> tuple[TargetScore | None, str]:
    """The score of a probe's only target; or None, and why. The reason is also that of a truncated prompt."""
    answer = answers.get(asked.id)
    values = target_values(asked, answer, "sum")
    if isinstance(values, str):
        return None, values
    assert answer is not None
    return answer.targets[0], TRUNCATED if answer.truncated else ""


def read_answers(asked: ScoreProbe, answers: Answers) -> tuple[tuple[TargetScore, ...], str]:
    """The scores of all targets of a probe; or none, and why. The reason is also that of a truncated prompt."""
    answer = answers.get(asked.id)
    values = target_values(asked, answer, "sum")
    if isinstance(values, str):
        return (), values
    assert answer is not None
    return answer.targets, TRUNCATED if answer.truncated else ""


Better = Literal["higher", "lower"]
