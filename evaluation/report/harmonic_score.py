"""ROME's score S: the harmonic mean of efficacy, paraphrase and neighbourhood success (Meng et al. 2022).

Its interval is that of the worst and the best case of its rates together: each rate gets an interval that misses its
truth with at most 5 % / k (k rates, Bonferroni), and the score rises with each of them. So it holds the truth in at
least 95 % whatever the rates have to do with each other, and is wider than need be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.stats.bounded import SHARE, clustered_interval
from curation.stats.estimates import harmonic_mean
from evaluation.analysis.comparison import Comparison, Scores
from evaluation.metrics.base import Metric, Role, metric_of, scored_items
from schemas.answers import CaseScores

_PARTS: Mapping[str, tuple[Role, ...]] = {
    "S (ES, PS, NS)": ("efficacy", "generalisation", "locality"),
    "script S (S-ES, S-NS)": ("script_efficacy", "script_locality"),
}


_MISSED = 0.05  # chance that an interval of 95 % misses the truth


class HarmonicScore(NamedTuple):
    """One score of one method: its name with what it is made of, the value; None where a part has no value.

    ``ends``: of its interval of at least 95 %; None where a rate has none.
    """

    label: str
    name: str
    value: float | None
    ends: tuple[float, float] | None = None


def harmonic_ends(rates: Sequence[Sequence[CaseScores]]) -> tuple[float, float] | None:
    """Ends of an interval of at least 95 % of the harmonic mean of rates; None where a rate has a single case.

    Args:
        rates: The scored cases behind each rate.
    """
    tail = _MISSED / 2 / max(len(rates), 1)
    boxes = [clustered_interval(*scored_items(scores), SHARE, tail=tail).ends for scores in rates]
    known = [box for box in boxes if box is not None]
    if not known or len(known) < len(boxes):
        return None
    return harmonic_mean([low for low, _ in known]), harmonic_mean([high for _, high in known])


def harmonic_scores(table: Comparison, metrics: Sequence[Metric], scores: Scores) -> list[HarmonicScore]:
    """Every score that the metrics of a table over all cases allow, by method; one that no method has is left out."""
    out = []
    for name, roles in _PARTS.items():
        present = [m for role in roles if (m := metric_of(metrics, role)) is not None]
        if len(present) < len(roles):
            continue
        if all(None in [row.summaries[m.name].mean for m in present] for row in table.rows):
            continue
        for row in table.rows:
            means = [row.summaries[m.name].mean for m in present]
            known = [v for v in means if v is not None]
            if len(known) < len(means):
                out.append(HarmonicScore(row.label, name, None))
                continue
            by_metric = scores.by_editor[row.label]
            ends = harmonic_ends([list(by_metric[m.name].values()) for m in present])
            out.append(HarmonicScore(row.label, name, harmonic_mean(known), ends))
    return out
