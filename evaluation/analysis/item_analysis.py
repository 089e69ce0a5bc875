"""Does a split tell methods apart: split-half reliability of their order, difficulty and discrimination of items.

These are the classical figures of test theory with methods in the place of persons and prompts in the place of items.
Null methods (the unedited model, ``boost`` ...) are no persons: they would make every split look discriminating.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau  # type: ignore[import-untyped, unused-ignore]

from curation.stats.estimates import Floats
from curation.stats.reliability import spearman_brown
from evaluation.editors.baselines import NULL_METHODS
from evaluation.metrics.base import Metric
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run, cases_by_key
from schemas.answers import ItemScore
from schemas.core.errors import UserError

LEAST_METHODS = 3
LEAST_CASES = 4
DRAWS = 2_000
_OUTCOMES = (None, 0.0, 0.5, 1.0)  # unscored, failed, a tie, passed
_PASS = 0.5  # an item whose value is above it is passed: a tie is not


class SplitHalf(NamedTuple):
    """How alike two random halves of the cases judge the methods, over ``draws`` divisions.

    Attributes:
        tau: Mean Kendall's tau-b between the orders of the two halves.
        same_first: Share of divisions in which both halves have the same best method.
        reliability: Spearman-Brown of the mean correlation between the halves' means: of the whole, not of a half.
            None where the means of the halves do not vary over methods.
        draws: Divisions of the cases.
    """

    tau: float | None
    same_first: float
    reliability: float | None
    draws: int


class ItemFigures(NamedTuple):
    """Items (prompts) that every method has a value for.

    Attributes:
        items: How many there are.
        passed_by: Number of items by how many methods pass them; the first place is "no method".
        discrimination: Correlation, over methods, of each item with the mean of all cases but its own; only items that
            some and not all methods pass have one.
    """

    items: int
    passed_by: tuple[int, ...]
    discrimination: tuple[float, ...]

    @property
    def idle(self) -> int:
        """Items that all methods or none pass: they say nothing about the order."""
        return self.passed_by[0] + self.passed_by[-1]


class RelationInfluence(NamedTuple):
    """What one relation does to the result.

    Attributes:
        cases: Its cases.
        spread: Best less worst mean of a method within the relation.
        shift: The greatest change of a method's mean when the relation is left out, and ``method``, whose it is.
        tau: Kendall's tau-b of the methods' order with and without the relation; 1 where nothing changes places.
    """

    relation: str
    cases: int
    spread: float
    shift: float
    method: str
    tau: float | None


class ItemAnalysis(NamedTuple):
    """One metric: the methods from best to worst with their means over the ``cases`` common to all, and the figures.

    ``items`` is None where an item is neither passed nor failed (a probability, a difference).
    """

    metric: str
    means: dict[str, float]
    cases: int
    halves: SplitHalf
    items: ItemFigures | None
    relations: tuple[RelationInfluence, ...]


def analyse(run: Run, scores: Scores, metric: Metric, *, draws: int = DRAWS, seed: int = 0) -> ItemAnalysis:
    """Split-half reliability, items and relations of one metric of a run.

    Only cases that every method has a value for count. Means are means of case means, as in the tables.

    Args:
        run: The run; edits of facts.
        scores: Its scores.
        metric: Of which more or less is better.
        draws: Random divisions into halves.
        seed: Of the divisions.

    Raises:
        UserError: fewer than three methods beside the null methods, or fewer than four common cases.
    """
    labels = [e.label for e in run.editors if e.manifest.editor not in NULL_METHODS and e.label != run.baseline.label]
    by_method = {label: scores.by_editor[label][metric.name] for label in labels}
    keys = [k for k in run.cases if all(k in m and m[k].mean is not None for m in by_method.values())]
    if len(labels) < LEAST_METHODS or len(keys) < LEAST_CASES:
        raise UserError(
            f"{len(labels)} methods with {len(keys)} cases in common are too few to say how stable their order is",
            where=f"{run.folder}, {metric.name}",
            allowed=f"at least {LEAST_METHODS} methods beside the null methods, and {LEAST_CASES} cases",
            fix="add methods or cases: scedit run CONFIG --editors prompt,ft,rome",
        )
    sign = 1.0 if metric.better == "higher" else -1.0
    values = np.array([[by_method[label][k].mean for k in keys] for label in labels], dtype=np.float64)
    means = dict(zip(labels, values.mean(axis=1).tolist(), strict=True))
    order = sorted(labels, key=lambda label: -sign * means[label])
    return ItemAnalysis(
        metric.name,
        {label: means[label] for label in order},
        len(keys),
        split_half(sign * values, draws=draws, seed=seed),
        _item_figures(labels, keys, {label: {k: by_method[label][k].items for k in keys} for label in labels}, sign),
        _relation_influences(run, labels, keys, values),
    )


def split_half(values: Floats, *, draws: int = DRAWS, seed: int = 0) -> SplitHalf:
    """Figures of random divisions of the cases into halves.

    Args:
        values: (methods, cases); more is better.
        draws: Divisions.
        seed: Of the generator.

    Example:
        >>> clear = np.array([[0.9, 1.0, 0.8, 0.9], [0.5, 0.5, 0.4, 0.5], [0.1, 0.0, 0.1, 0.2]])
        >>> halves = split_half(clear, draws=20)
        >>> round(halves.tau, 6), halves.same_first, round(halves.reliability, 2)
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
    reliability = spearman_brown(float(np.mean(correlations)), 2) if correlations else None
    return SplitHalf(float(np.mean(known)) if known else None, first / draws, reliability, draws)


def _best(means: Floats) -> frozenset[int]:
    return frozenset(np.flatnonzero(np.isclose(means, means.max())).tolist())


def _tau(a: Floats, b: Floats) -> float | None:
    """Kendall's tau-b; None where one side does not vary."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(kendalltau(a, b).statistic)


def _item_figures(
    labels: Sequence[str], keys: Sequence[str], items: Mapping[str, Mapping[str, Sequence[ItemScore]]], sign: float
) -> ItemFigures | None:
    if any(i.value not in _OUTCOMES for of in items.values() for case in of.values() for i in case):
        return None
    passed_by: Counter[int] = Counter()
    discrimination: list[float] = []
    case_means = np.array([[_mean(items[label][k]) for k in keys] for label in labels])
    for place, key in enumerate(keys):
        rest = np.delete(case_means, place, axis=1).mean(axis=1)
        for values in _common_items([items[label][key] for label in labels]):
            passes = sign * values > sign * _PASS
            passed_by[int(passes.sum())] += 1
            if 0 < passes.sum() < len(labels) and np.ptp(rest) > 0:
                discrimination.append(float(np.corrcoef(passes.astype(np.float64), sign * rest)[0, 1]))
    counts = tuple(passed_by[n] for n in range(len(labels) + 1))
    return ItemFigures(sum(counts), counts, tuple(discrimination))


def _mean(items: Sequence[ItemScore]) -> float:
    return float(np.mean([i.value for i in items if i.value is not None]))


def _common_items(by_method: Sequence[Sequence[ItemScore]]) -> list[Floats]:
    """Values over methods of each probe that all methods have one for."""
    values: dict[str, list[float]] = defaultdict(list)
    for items in by_method:
        for item in items:
            if item.value is not None:
                values[item.probe].append(item.value)
    return [np.array(row) for row in values.values() if len(row) == len(by_method)]


def _relation_influences(
    run: Run, labels: Sequence[str], keys: Sequence[str], values: Floats
) -> tuple[RelationInfluence, ...]:
    """Relations by how far leaving them out moves a mean, greatest first."""
    cases = cases_by_key(run)
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        fact = cases[key].fact
        places[fact.relation.label or fact.relation.id].append(place)
    if len(places) < 2:
        return ()
    whole = values.mean(axis=1)
    influences = []
    for relation, mine in places.items():
        rest = np.delete(values, mine, axis=1).mean(axis=1)
        moved = int(np.argmax(np.abs(whole - rest)))
        inside = values[:, mine].mean(axis=1)
        influences.append(
            RelationInfluence(
                relation,
                len(mine),
                float(np.ptp(inside)),
                float(rest[moved] - whole[moved]),
                labels[moved],
                _tau(whole, rest),
            )
        )
    return tuple(sorted(influences, key=lambda x: (-abs(x.shift), x.relation)))
