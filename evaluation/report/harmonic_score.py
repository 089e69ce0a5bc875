"""ROME's score S: the harmonic mean of efficacy, paraphrase and neighbourhood success (Meng et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.comparison import Comparison
from evaluation.metrics.base import Metric, Role, metric_of

_PARTS: Mapping[str, tuple[Role, ...]] = {
    "S (ES, PS, NS)": ("efficacy", "generalisation", "locality"),
    "script S (S-ES, S-NS)": ("script_efficacy", "script_locality"),
}


class HarmonicScore(NamedTuple):
    """One score of one method: its name with what it is made of, the value; None where a part has no value."""

    label: str
    name: str
    value: float | None


def harmonic_mean(values: Sequence[float]) -> float:
    """The harmonic mean of rates; 0 as soon as one of them is 0.

    Example:
        >>> round(harmonic_mean([1.0, 0.5, 0.5]), 3), harmonic_mean([1.0, 0.0])
        (0.6, 0.0)
    """
    return len(values) / sum(1 / v for v in values) if values and min(values) > 0 else 0.0


def harmonic_scores(table: Comparison, metrics: Sequence[Metric]) -> list[HarmonicScore]:
    """Every score that the metrics of a table allow, by method."""
    out = []
    for name, roles in _PARTS.items():
        found = [m for role in roles if (m := metric_of(metrics, role)) is not None]
        if len(found) < len(roles):
            continue
        for row in table.rows:
            means = [row.summaries[m.name].mean for m in found]
            known = [v for v in means if v is not None]
            out.append(HarmonicScore(row.label, name, harmonic_mean(known) if len(known) == len(means) else None))
    return out
