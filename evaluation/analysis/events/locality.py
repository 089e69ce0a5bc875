"""Locality beside the placebo's: another event before the question moves answers too, by its words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Scores
from evaluation.metrics.base import Metric
from evaluation.metrics.events.facts import EventFactLocality
from evaluation.metrics.events.letters import EventLetterLocality
from evaluation.metrics.events.open_answers import EventOpenLocality
from evaluation.metrics.events.tendencies import EventChoiceLocality
from evaluation.runs.results import Run

PLACEBO = "placebo"
_LOCALITY = (EventFactLocality, EventChoiceLocality, EventLetterLocality, EventOpenLocality)


class LocalityBesidePlacebo(NamedTuple):
    """One locality of one method, and the placebo's over the same questions.

    Attributes:
        metric: Title of the metric.
        label: The method.
        value: Share of questions out of scope that are answered as before, pooled, with its interval by event.
        placebo: The placebo's.
        difference: ``value`` less ``placebo`` over the questions that both have, paired. Near 0: what the method moved
            out of scope, any event before the question moves.
    """

    metric: str
    label: str
    value: Interval
    placebo: Interval
    difference: Interval


def locality_beside_placebo(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[LocalityBesidePlacebo]:
    """Every method with edits under every metric of locality; empty where the run has no placebo."""
    placebo = next((e.label for e in run.editors[1:] if e.manifest.editor == PLACEBO), None)
    if placebo is None:
        return []
    out = []
    for metric in metrics:
        if not isinstance(metric, _LOCALITY):
            continue
        values = {
            e.label: metric.summarise([s for k in run.cases if (s := scores.by_editor[e.label][metric.name].get(k))])
            for e in run.editors[1:]
        }
        out += [
            LocalityBesidePlacebo(
                metric.title,
                label,
                summary.interval,
                values[placebo].interval,
                scores.difference(label, placebo, metric, run.cases),
            )
            for label, summary in values.items()
            if label != placebo and summary.mean is not None and values[placebo].mean is not None
        ]
    return out
