"""Hops by preference, as ES and S-ES ask: the answer after the edit against the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import TRUNCATED, Answers, Normalisation, item_without_value, row, target_values
from evaluation.metrics.documents.base import Better, DocumentMetric
from evaluation.metrics.documents.probes import preference_probe
from evaluation.metrics.pooled import PooledMean
from schemas.answers import CaseScores, ItemScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.probes import Probe, ScoreProbe


class PreferredAnswer(DocumentMetric, PooledMean):
    """Is the answer after the edit strictly more probable than the one before it? Pooled over probes that say both."""

    better: ClassVar[Better] = "higher"

    def asked(self, case: DocumentCase) -> Sequence[DocumentProbe]:
        """The probes of the group that say what was right before."""
        return [probe for probe in super().asked(case) if probe.old_answer is not None]

    def probe_of(self, probe: DocumentProbe) -> Probe:
        """How probable both answers are."""
        return preference_probe(probe, self.choice)

    def score(self, case: DocumentCase, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """1 where the new answer is strictly more probable, else 0; ties are 0 and counted."""
        probes = [preference_probe(probe, self.choice) for probe in self.asked(case) if probe.blanks < 2]
        items = tuple(_preference(probe, after, normalisation) for probe in probes)
        return CaseScores(case=case.key, metric=self.name, items=items)


def _preference(probe: ScoreProbe, after: Answers, normalisation: Normalisation) -> ItemScore:
    answer = after.get(probe.id)
    values = target_values(probe, answer, normalisation)
    if isinstance(values, str):
        return item_without_value(probe, values)
    new, old = values
    reason = TRUNCATED if answer is not None and answer.truncated else ""
    return ItemScore(probe=probe.id, item=probe.item, value=float(new > old), tie=new == old, reason=reason)


PreferredHop = row(
    PreferredAnswer,
    name="es_hop",
    title="ES-hop",
    about="Share of hops whose answer after the edit is more probable than the one before it",
    group="hop",
)


PreferredScriptHop = row(
    PreferredAnswer,
    name="s_es_hop",
    title="S-ES-hop",
    about="The same at the cut of a script whose last step needs a hop from the edited fact",
    group="script_hop",
)
