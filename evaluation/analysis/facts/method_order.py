"""How stable the methods' order is: over metrics of the same thing, and over the number of edits made together.

Published orders change with the metric and the batch size (2507.05937). Every condition (a metric, a size) orders the
same methods over the same cases; Kendall's tau-b compares each order with that of the first condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from curation.stats.bootstrap import Resampling, ends
from curation.stats.estimates import Estimate, Floats
from curation.stats.intervals import LEAST_CASES, Interval
from evaluation.analysis.tables import Cell, FigureTable, Plot, PlotPoint
from evaluation.editors.baselines import NULL_METHODS
from evaluation.metrics.base import Metric
from evaluation.regimes.config import regime_title
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run

Subject = Literal["efficacy", "locality"]
EFFICACY = (
    *("es", "es_argmax", "es_gen", "ps", "ps_argmax", "ps_gen", "s_es", "s_es_gen", "s_es_gen_question"),
    *("es_negated", "es_true_false", "es_choice", "s_es_negated", "s_es_true_false", "s_es_choice"),
)
LOCALITY = (
    "ns",
    "ns_argmax",
    "ns_gen",
    "ns_top",
    "ns_kl",
    "s_ns",
    "s_ns_top",
    "s_ns_kl",
    "unrelated_top",
    "unrelated_kl",
)
SUBJECTS: dict[Subject, tuple[str, ...]] = {"efficacy": EFFICACY, "locality": LOCALITY}
"""Metrics that measure one thing, in the order of columns; a run's own metrics among them are compared."""
LEAST_METHODS = 3
DRAWS = 1000


class OrderCondition(NamedTuple):
    """One metric at one size.

    Attributes:
        title: As shown.
        means: By method, over the common cases.
        ranks: By method, 1 for the best; equal means share the mean of their places.
        tau: Kendall's tau-b with the first condition; None where one of them does not order at all.
        ends: The middle 95 % of tau over resamples of the cases (percentile bootstrap).
        same_best: Share of resamples in which one method is best here and under the first condition (of equal means,
            all are best).
    """

    title: str
    means: dict[str, float]
    ranks: dict[str, float]
    tau: float | None
    ends: tuple[float, float] | None
    same_best: float


class MethodOrder(NamedTuple):
    """All conditions about one subject; ``methods`` from best to worst under the first, ``cases`` common to all."""

    subject: Subject
    methods: tuple[str, ...]
    cases: int
    conditions: tuple[OrderCondition, ...]


class _Column(NamedTuple):
    title: str
    sign: float
    by_method: dict[str, dict[str, float]]  # method -> case -> value


def method_orders(run: Run, scores: Scores, metrics: Sequence[Metric], *, draws: int = DRAWS) -> list[MethodOrder]:
    """The orders of a run (or of several merged ones) over three methods or more, null methods aside.

    A condition that some method lacks is left out; so is a subject with fewer than two conditions or five common cases.
    """
    out = []
    for subject, names in SUBJECTS.items():
        columns = _columns(run, scores, [m for name in names for m in metrics if m.name == name])
        methods = [name for name in (columns[0].by_method if columns else ())]
        keys = [k for k in run.cases if all(k in c.by_method[m] for c in columns for m in methods)]
        if len(columns) > 1 and len(methods) >= LEAST_METHODS and len(keys) >= LEAST_CASES:
            table = np.array([[[c.by_method[m][k] for k in keys] for m in methods] for c in columns])
            out.append(_order(subject, columns, methods, table, draws))
    return out


def _columns(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[_Column]:
    """Every metric at every size that orders the most methods; a method's name is its label without the size."""
    sizes: dict[str, dict[str, str]] = {}  # regime -> method -> label
    for editor in run.editors:
        if editor.label != run.baseline.label and editor.manifest.editor not in NULL_METHODS:
            regime = editor.manifest.regime
            name = editor.label.removesuffix(f" ({regime_title(regime)})")
            sizes.setdefault(regime, {})[name] = editor.label
    methods_at_most = max((len(labels) for labels in sizes.values()), default=0)
    columns = []
    for regime, labels in sizes.items():
        for metric in metrics if len(labels) == methods_at_most else ():
            values = {name: scores.means(label, metric.name) for name, label in labels.items()}
            if all(values.values()):
                title = metric.title if len(sizes) == 1 else f"{metric.title}, {regime_title(regime)}"
                columns.append(_Column(title, 1.0 if metric.better == "higher" else -1.0, values))
    return [c for c in columns if c.by_method.keys() == columns[0].by_method.keys()]


def _order(
    subject: Subject, columns: Sequence[_Column], methods: Sequence[str], table: Floats, draws: int
) -> MethodOrder:
    """``table``: (conditions, methods, cases)."""
    signs = np.array([c.sign for c in columns])[:, None]
    means = table.mean(axis=2)
    cases = table.shape[2]
    places = np.random.default_rng(0).integers(0, cases, size=(draws, cases))
    drawn = np.stack([table[:, :, p].mean(axis=2) for p in places]) * signs  # (draws, conditions, methods)
    bests = drawn >= drawn.max(axis=2, keepdims=True) - 1e-12
    conditions = []
    for n, column in enumerate(columns):
        taus = kendall_taus(drawn[:, 0], drawn[:, n])
        taus = taus[~np.isnan(taus)]
        tau = float(kendall_taus((means * signs)[None, 0], (means * signs)[None, n])[0])
        low, high, _ = ends(taus, Resampling(len(taus)), cases=cases)
        same = (bests[:, 0] & bests[:, n]).any(axis=1)
        conditions.append(
            OrderCondition(
                column.title,
                dict(zip(methods, means[n].tolist(), strict=True)),
                dict(zip(methods, ranks_of(column.sign * means[n]), strict=True)),
                None if np.isnan(tau) else tau,
                None if low is None or high is None else (low, high),
                float(same.mean()),
            )
        )
    first = conditions[0].ranks
    return MethodOrder(subject, tuple(sorted(methods, key=lambda m: first[m])), cases, tuple(conditions))


def order_parts(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable | Plot]:
    """A picture of the ranks and a table of each subject."""
    out: list[FigureTable | Plot] = []
    for order in method_orders(run, scores, metrics):
        title = f"The methods' order by {order.subject}"
        rows: list[tuple[Cell, ...]] = []
        for one in order.conditions:
            tau = Estimate("tau", one.tau, *(one.ends or (None, None)))
            same = Interval(None if one.tau is None else one.same_best, None, order.cases).alone
            rows.append((one.title, tau, same, *(f"{one.ranks[m]:g}" for m in order.methods)))
        points = tuple(
            PlotPoint(m, c.title, Interval(c.ranks[m], None, order.cases, unit="rank").alone)
            for m in order.methods
            for c in order.conditions
        )
        caption = (
            f"Ranks over {order.cases} cases in common. Tau: Kendall's tau-b with the first order, and the middle 95 % "
            "over resamples of the cases."
        )
        out.append(Plot("lines", title, points, "condition", "rank", caption, ranked=True))
        out.append(FigureTable(title, ("Condition", "Tau", "Same best", *order.methods), tuple(rows), folded=True))
    return out


def ranks_of(values: Floats) -> list[float]:
    """Ranks, 1 for the greatest; equal values share the mean of their places.

    Example:
        >>> ranks_of(np.array([0.2, 0.9, 0.2]))
        [2.5, 1.0, 2.5]
    """
    higher = (values[None, :] > values[:, None] + 1e-12).sum(axis=1)
    equal = (np.abs(values[None, :] - values[:, None]) <= 1e-12).sum(axis=1)
    return [float(v) for v in higher + (equal + 1) / 2]


def kendall_taus(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b of many pairs of columns at once: (draws, methods) twice -> (draws,); NaN where one is constant.

    Example:
        >>> kendall_taus(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])).round(2).tolist()
        [0.33]
    """
    upper = np.triu_indices(first.shape[1], 1)
    one, two = (np.sign(np.round(side[:, upper[0]] - side[:, upper[1]], 12)) for side in (first, second))
    with np.errstate(invalid="ignore", divide="ignore"):
        taus: Floats = (one * two).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    return taus
