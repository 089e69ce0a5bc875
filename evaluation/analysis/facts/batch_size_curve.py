"""Forgetting over batch sizes: what is left of an edit when more of them are made together, against the fewest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.analysis.comparison import score_run
from evaluation.analysis.documents.batch_sizes import size_of
from evaluation.analysis.forgetting_curve import ForgettingPoint
from evaluation.metrics.base import Metric, Normalisation, case_mean_difference, case_mean_interval
from evaluation.regimes.config import regime_title
from evaluation.runs.results import Run
from schemas.answers import CaseScores
from schemas.core.errors import UserError


def is_in_batches(run: Run) -> bool:
    """Whether edits of the run were made together, and none of them after another."""
    return any(regime.startswith("batch:") for regime in run.regimes) and "sequential" not in run.regimes


def batch_size_curve(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[ForgettingPoint]:
    """A point for every method, metric and size: ``edits`` made together, ``new`` under the fewest, ``lost`` paired.

    Cases are those that have a value under every size of the method, so that the curve is over the same cases; ``all``
    is their mean at this size. The unedited model has no curve.

    Raises:
        UserError: no method of the run has two sizes.
    """
    scores = score_run(run, metrics, normalisation).by_editor
    out: list[ForgettingPoint] = []
    for name, labels in _sizes(run).items():
        for metric in metrics:
            by_size = {size: _scored(scores[label][metric.name]) for size, label in labels.items()}
            common = set.intersection(*map(set, by_size.values()))
            if common:
                out += _points(name, metric, by_size, [key for key in run.cases if key in common])
    if not out:
        raise UserError(
            "no method of the run was run with two batch sizes",
            where=str(run.folder),
            fix='run with regime = { name = "batch", size = [1, 10] }',
        )
    return out


def _sizes(run: Run) -> dict[str, dict[int, str]]:
    """Labels by method and size, methods with several sizes only."""
    found: dict[str, dict[int, str]] = {}
    for editor in run.editors:
        size = size_of(editor.manifest.regime)
        if size is not None and editor.label != run.baseline.label:
            name = editor.label.removesuffix(f" ({regime_title(editor.manifest.regime)})")
            found.setdefault(name, {})[size] = editor.label
    return {name: dict(sorted(labels.items())) for name, labels in found.items() if len(labels) > 1}


def _scored(scores: Mapping[str, CaseScores]) -> dict[str, CaseScores]:
    return {case: one for case, one in scores.items() if one.mean is not None}


def _points(
    name: str, metric: Metric, by_size: Mapping[int, Mapping[str, CaseScores]], cases: Sequence[str]
) -> list[ForgettingPoint]:
    fewest = {case: by_size[min(by_size)][case] for case in cases}
    points = []
    for size, scores in by_size.items():
        now = {case: scores[case] for case in cases}
        lost = case_mean_difference(metric, now, fewest)
        new, old = (case_mean_interval(metric, side.values()) for side in (now, fewest))
        points.append(ForgettingPoint(name, metric.name, size, new, old, lost, None))
    return points
