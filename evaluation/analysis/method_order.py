"""How stable the methods' order is: over metrics, sizes and cases; which items and relations decide it.

Published orders change with the metric and the batch size (2507.05937). Split-half reliability, difficulty and
discrimination are the classical figures of test theory with methods in the place of persons and prompts in the place of
items. Control methods (the unedited model, ``boost`` ...) take no part: all splits would look discriminating.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from curation.stats.bootstrap import Resampling, ends
from curation.stats.correlation import spearman_brown
from curation.stats.estimates import Estimate, Floats
from curation.stats.intervals import LEAST_CASES, Interval
from evaluation.analysis.tables import Cell, FigureTable, Plot, PlotPoint
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.metrics.base import Metric
from evaluation.regimes.config import regime_title
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run, cases_by_key
from schemas.answers import ItemScore
from schemas.core.errors import UserError

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


class MethodOrder(NamedTuple):
    """All conditions about one subject; ``methods`` from best to worst under the first, ``cases`` common to all.

    A condition is one metric at one size: its ``title``; by method the ``means`` over the common cases, and the
    ``ranks``, 1 for the best (equal means share the mean of their places); ``tau``, Kendall's tau-b with the first
    condition (None for the first, and where one does not order at all), and its ``ends``, the middle 95 % over
    resamples of the cases (percentile bootstrap); ``same_best``, the share of resamples in which one method is best
    here and under the first condition (of equal means, all are best; None for the first).
    """

    subject: Subject
    methods: tuple[str, ...]
    cases: int
    conditions: tuple[dict[str, Any], ...]


_Column = tuple[str, float, dict[str, dict[str, float]]]
"""A condition: its title, the sign of what is better, and by method and case the values."""


def method_orders(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[MethodOrder]:
    """The orders of a run (or of several merged ones) over three methods or more, control methods aside.

    A condition that some method lacks is left out; so is a subject with fewer than two conditions or five common cases.
    """
    out = []
    for subject, names in SUBJECTS.items():
        columns = _columns(run, scores, [m for name in names for m in metrics if m.name == name])
        methods = list(columns[0][2]) if columns else []
        keys = [k for k in run.cases if all(k in values[m] for _, _, values in columns for m in methods)]
        if len(columns) > 1 and len(methods) >= LEAST_METHODS and len(keys) >= LEAST_CASES:
            table = np.array([[[values[m][k] for k in keys] for m in methods] for _, _, values in columns])
            conditions = _conditions(columns, methods, table)
            ranks = conditions[0]["ranks"]
            ordered = tuple(sorted(methods, key=lambda m: ranks[m]))
            out.append(MethodOrder(subject, ordered, len(keys), conditions))
    return out


def _columns(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[_Column]:
    """Every metric at every size that orders the most methods; a method's name is its label without the size."""
    sizes: dict[str, dict[str, str]] = defaultdict(dict)  # regime -> method -> label
    for editor in run.editors:
        if editor.label != run.baseline.label and editor.manifest.editor not in CONTROL_METHODS:
            regime = editor.manifest.regime
            sizes[regime][editor.label.removesuffix(f" ({regime_title(regime)})")] = editor.label
    methods_at_most = max(map(len, sizes.values()), default=0)
    columns: list[_Column] = []
    for regime, labels in sizes.items():
        for metric in metrics if len(labels) == methods_at_most else ():
            values = {name: scores.means(label, metric.name) for name, label in labels.items()}
            if all(values.values()):
                title = metric.title if len(sizes) == 1 else f"{metric.title}, {regime_title(regime)}"
                columns.append((title, 1.0 if metric.better == "higher" else -1.0, values))
    return [column for column in columns if column[2].keys() == columns[0][2].keys()]


def _conditions(columns: Sequence[_Column], methods: Sequence[str], table: Floats) -> tuple[dict[str, Any], ...]:
    """``table``: (conditions, methods, cases)."""
    from scipy import stats  # type: ignore[import-untyped]

    signed, cases = table * np.array([sign for _, sign, _ in columns])[:, None, None], table.shape[2]
    means = table.mean(axis=2)
    places = np.random.default_rng(0).integers(0, cases, size=(DRAWS, cases))
    drawn = np.stack([signed[:, :, p].mean(axis=2) for p in places])  # (draws, conditions, methods)
    bests = drawn >= drawn.max(axis=2, keepdims=True) - 1e-12
    conditions = []
    for n, (title, sign, _) in enumerate(columns):
        taus = kendall_taus(drawn[:, 0], drawn[:, n])
        taus = taus[~np.isnan(taus)]
        low, high, _ = ends(taus, Resampling(len(taus)), cases=cases)
        ranks = stats.rankdata(-sign * means[n].round(12))
        same = (bests[:, 0] & bests[:, n]).any(axis=1)
        conditions.append(
            {
                "title": title,
                "means": dict(zip(methods, means[n].tolist(), strict=True)),
                "ranks": dict(zip(methods, ranks.tolist(), strict=True)),
                "tau": _tau(signed[0].mean(axis=1), signed[n].mean(axis=1)) if n else None,
                "ends": None if low is None or high is None else (low, high),
                "same_best": float(same.mean()) if n else None,
            }
        )
    return tuple(conditions)


def order_parts(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable | Plot]:
    """A picture of the ranks and a table of each subject."""
    out: list[FigureTable | Plot] = []
    for order in method_orders(run, scores, metrics):
        title = f"The methods' order by {order.subject}"
        value = Interval(None, None, order.cases).alone
        rows: list[tuple[Cell, ...]] = []
        for one in order.conditions:
            tau = Estimate("tau", one["tau"], *(one["ends"] or (None, None)))
            same = value._replace(mean=one["same_best"])
            rows.append((one["title"], tau, same, *(f"{one['ranks'][m]:g}" for m in order.methods)))
        points = tuple(
            PlotPoint(m, c["title"], value._replace(mean=c["ranks"][m], unit="rank"))
            for m in order.methods
            for c in order.conditions
        )
        about = f"Ranks over {order.cases} cases in common."
        caption = (
            "Tau: Kendall's tau-b with the first order, and the middle 95 % over resamples of the cases. Same best: "
            "share of resamples in which both orders have the same best method."
        )
        head = ("Condition", "Tau", "Same best", *order.methods)
        out.append(Plot("lines", title, points, "condition", "rank", about, ranked=True))
        out.append(FigureTable(title, head, tuple(rows), caption, folded=True))
    return out


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


FEWEST_CASES = 4
_OUTCOMES = (None, 0.0, 0.5, 1.0)  # unscored, failed, a tie, passed
_PASS = 0.5  # an item whose value is above it is passed: a tie is not


def analyse(run: Run, scores: Scores, metric: Metric, *, draws: int, seed: int = 0) -> dict[str, Any]:
    """Split-half reliability, items and relations of one metric of a run, as ``results item-analysis --json`` has them.

    Only cases that every method has a value for count. Means are means of case means, as in the tables, from best to
    worst. ``items`` is None where an item is neither passed nor failed (a probability, a difference).

    Args:
        run: The run; edits of facts.
        scores: Its scores.
        metric: Of which more or less is better.
        draws: Random divisions into halves.
        seed: Of the divisions.

    Raises:
        UserError: fewer than three methods beside the control methods, or fewer than four common cases.
    """
    labels = [
        e.label for e in run.editors if e.manifest.editor not in CONTROL_METHODS and e.label != run.baseline.label
    ]
    by_method = {label: scores.by_editor[label][metric.name] for label in labels}
    keys = [k for k in run.cases if all(k in m and m[k].mean is not None for m in by_method.values())]
    if len(labels) < LEAST_METHODS or len(keys) < FEWEST_CASES:
        raise UserError(
            f"{len(labels)} methods with {len(keys)} cases in common are too few to say how stable their order is",
            where=f"{run.folder}, {metric.name}",
            allowed=f"at least {LEAST_METHODS} methods beside the control methods, and {FEWEST_CASES} cases",
            fix="add methods or cases: scedit run CONFIG --editors prompt,ft,rome",
        )
    sign = 1.0 if metric.better == "higher" else -1.0
    values = np.array([[by_method[label][k].mean for k in keys] for label in labels], dtype=np.float64)
    means = dict(zip(labels, values.mean(axis=1).tolist(), strict=True))
    items = [[by_method[label][key].items for label in labels] for key in keys]
    return {
        "metric": metric.name,
        "means": {label: means[label] for label in sorted(labels, key=lambda label: -sign * means[label])},
        "cases": len(keys),
        "halves": split_half(sign * values, draws=draws, seed=seed),
        "items": _item_figures(items, values, sign),
        "relations": _relation_influences(run, labels, keys, values),
    }


def split_half(values: Floats, *, draws: int, seed: int = 0) -> dict[str, Any]:
    """How alike two random halves of the cases judge the methods.

    ``tau``: mean Kendall's tau-b between the orders of the two halves. ``same_first``: share of divisions in which both
    halves have the same best method. ``reliability``: Spearman-Brown of the mean correlation between the halves' means:
    of the whole, not of a half; None where the means of the halves do not vary over methods, or do not agree at all.

    Args:
        values: (methods, cases); more is better.
        draws: Divisions.
        seed: Of the generator.

    Example:
        >>> clear = np.array([[0.9, 1.0, 0.8, 0.9], [0.5, 0.5, 0.4, 0.5], [0.1, 0.0, 0.1, 0.2]])
        >>> halves = split_half(clear, draws=20)
        >>> round(halves["tau"], 6), halves["same_first"], round(halves["reliability"], 2)
        (1.0, 1.0, 1.0)
    """
    generator = np.random.default_rng(seed)
    cases = values.shape[1]
    taus, correlations, first = [], [], 0
    for _ in range(draws):
        places = generator.permutation(cases)
        a = values[:, places[: cases // 2]].mean(axis=1)
        b = values[:, places[cases // 2 :]].mean(axis=1)
        taus.append(_tau(a, b))
        first += int(_best(a) == _best(b))
        if np.ptp(a) > 0 and np.ptp(b) > 0:
            correlations.append(float(np.corrcoef(a, b)[0, 1]))
    known = [tau for tau in taus if tau is not None]
    mean = float(np.mean(correlations)) if correlations else 0.0
    reliability = spearman_brown(mean, 2) if mean > 0 else None
    tau = float(np.mean(known)) if known else None
    return {"tau": tau, "same_first": first / draws, "reliability": reliability, "draws": draws}


def _best(means: Floats) -> frozenset[int]:
    return frozenset(np.flatnonzero(np.isclose(means, means.max())).tolist())


def _tau(a: Floats, b: Floats) -> float | None:
    """Kendall's tau-b; None where one side does not vary."""
    tau = float(kendall_taus(a[None], b[None])[0])
    return None if np.isnan(tau) else tau


def _item_figures(
    items: Sequence[Sequence[Sequence[ItemScore]]], case_means: Floats, sign: float
) -> dict[str, Any] | None:
    """Items (prompts) that every method has a value for.

    ``passed_by``: how many of them no method passes, one method, and so on. ``discrimination``: the correlation, over
    methods, of each item with the mean of all cases but its own, where some and not all methods pass it.

    Args:
        items: By case and method.
        case_means: (methods, cases).
        sign: Whether more is better (1) or less (-1).
    """
    if any(item.value not in _OUTCOMES for by_method in items for some in by_method for item in some):
        return None
    passed_by = [0] * (len(case_means) + 1)
    discrimination: list[float] = []
    for place, by_method in enumerate(items):
        rest = np.delete(case_means, place, axis=1).mean(axis=1)
        values: dict[str, list[float]] = defaultdict(list)
        for item in (item for some in by_method for item in some):
            if item.value is not None:
                values[item.probe].append(item.value)
        for row in values.values():
            if len(row) < len(by_method):
                continue
            passes = sign * np.array(row) > sign * _PASS
            passed_by[passes.sum()] += 1
            if 0 < passes.sum() < len(row) and np.ptp(rest) > 0:
                discrimination.append(float(np.corrcoef(passes.astype(np.float64), sign * rest)[0, 1]))
    return {"items": sum(passed_by), "passed_by": passed_by, "discrimination": discrimination}


def _relation_influences(run: Run, labels: Sequence[str], keys: Sequence[str], values: Floats) -> list[dict[str, Any]]:
    """What each relation does to the result, the one first that moves a mean most when it is left out.

    ``spread``: best less worst mean of a method within the relation. ``shift``: the greatest change of a method's mean
    when the relation is left out, and ``method``, whose it is. ``tau``: Kendall's tau-b of the methods' order with and
    without the relation.
    """
    cases = cases_by_key(run)
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        relation = cases[key].fact.relation
        places[relation.label or relation.id].append(place)
    if len(places) < 2:
        return []
    whole = values.mean(axis=1)
    influences = []
    for name, mine in places.items():
        rest = np.delete(values, mine, axis=1).mean(axis=1)
        moved = int(np.argmax(np.abs(whole - rest)))
        shift, spread = float(rest[moved] - whole[moved]), float(np.ptp(values[:, mine].mean(axis=1)))
        figures = {"shift": shift, "method": labels[moved], "tau": _tau(whole, rest)}
        influences.append({"relation": name, "cases": len(mine), "spread": spread, **figures})
    return sorted(influences, key=lambda x: (-abs(x["shift"]), x["relation"]))
