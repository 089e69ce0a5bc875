"""The frontier of efficacy against specificity: the methods that no other beats at both (MULFE Figure 3)."""

from __future__ import annotations

from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Comparison
from evaluation.metrics.documents.exact_match import ExactMatch
from evaluation.metrics.documents.specificity import SpecificityMatch


class FrontierPoint(NamedTuple):
    """A method's efficacy (EM over all probes) and specificity (EM of what the model knew before).

    ``beaten_by``: methods that are at least as good at both and better at one; none for a method of the frontier.
    """

    label: str
    efficacy: Interval
    specificity: Interval
    beaten_by: tuple[str, ...]


def frontier(table: Comparison) -> tuple[FrontierPoint, ...]:
    """Every method that has both, the most specific first; empty where the run has not asked both."""
    both = {
        row.label: (row.summaries[ExactMatch.name].interval, row.summaries[SpecificityMatch.name].interval)
        for row in table.rows
        if {ExactMatch.name, SpecificityMatch.name} <= set(row.summaries)
    }
    means = {
        label: (one.mean, two.mean)
        for label, (one, two) in both.items()
        if one.mean is not None and two.mean is not None
    }
    points = []
    for label, (efficacy, specificity) in means.items():
        better = tuple(
            other
            for other, (e, s) in means.items()
            if e >= efficacy and s >= specificity and (e > efficacy or s > specificity)
        )
        points.append(FrontierPoint(label, *both[label], better))
    return tuple(sorted(points, key=lambda p: (-(p.specificity.mean or 0.0), p.label)))
