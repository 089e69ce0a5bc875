"""Methods compared in pairs over the same cases: families of comparisons, corrected, with what could have been seen.

The sign-flip test decides (where neighbour facts recur in several cases, a t test with the two-way clustered error),
and beside it a test of the mean: the default interval must exclude 0. On a scale it allows for rare large losses that
were not drawn; without one it is Student's, moved out by the skewness. The larger p counts.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from curation.stats.bootstrap import Resampling
from curation.stats.bounded import (
    PairedItem,
    Scale,
    crossed_spread,
    difference_interval,
    difference_p,
    difference_reach,
    recurs,
)
from curation.stats.estimates import Floats
from curation.stats.intervals import LEAST_CASES, POOLED, Interval, varies
from curation.stats.paired import holm, sign_flips, smallest_detectable, smallest_p
from evaluation.metrics.pooled import RATIO, exponential

LEVEL = 0.05
POWER = 0.8
_DRAWS_A_TEST = 400  # so that p = 0.05 / family is reached with some 20 hits to spare
_SAME = 1e-12  # smaller differences are ties: they come from the order of additions
NO_SCALE = "No upper limit ({}): a decision may be wrong where these cases miss a rare large difference."
"""What a report says of decisions about values without a lowest and a highest possible one."""
Verdict = Literal["first", "second", "undecided", "equal", "undefined"]
Test = Literal["sign-flip", "sign-flip and interval", "two-way t", "two-way t and interval"]
FamilyKind = Literal["among", "against", "control"]
ItemPairs = Callable[[str, str], Sequence[PairedItem]]
IntervalOf = Callable[[str, str], Interval]


class PairwiseTest(NamedTuple):
    """Two methods under one metric.

    Attributes:
        metric: Title of the metric or aspect. ``first``, ``second``: labels of the methods.
        gap: Mean of first minus second over the cases that both have, with its default interval; of perplexities the
            factor between them (exp of the difference of logarithms).
        p: Two-sided p: the largest of those of the tests named in ``test``.
        p_holm: The same p, corrected for the family; never smaller than p.
        wins: Cases where the first is better (as the metric says what is better). ``ties``, ``losses``: the others.
        only_one: Cases that one of them lacks.
        detectable: Smallest true difference that these cases show with 80 % power at the level of the family's hardest
            step, or None where the differences do not vary, or where no outcome could decide (``never``).
        verdict: Who is better at a corrected p below 0.05; ``equal`` where no case differs.
        test: Which tests decide: ``interval`` asks at which level the interval begins to hold 0.
        never: Even if all these cases agreed, the corrected p would not be below 0.05.
        on_scale: Whether the interval, which a decision needs too, knows a lowest and a highest possible value.
    """

    metric: str
    first: str
    second: str
    gap: Interval
    p: float | None
    p_holm: float | None
    wins: int
    ties: int
    losses: int
    only_one: int
    detectable: float | None
    verdict: Verdict
    test: Test = "sign-flip"
    never: bool = False
    on_scale: bool = True

    @property
    def winner(self) -> str | None:
        """The better method, where the test decides."""
        return {"first": self.first, "second": self.second}.get(self.verdict)


class ComparisonFamily(NamedTuple):
    """Comparisons that are corrected together, one question about one metric.

    ``kind``: ``among`` the methods, each method ``against`` no edit, or each ``control`` method against no edit.
    """

    metric: str
    kind: FamilyKind
    pairs: tuple[PairwiseTest, ...]
    draws: int

    @property
    def best(self) -> str | None:
        """The method that its tests find better than every other; None where there is none.

        Example:
            >>> values = {m: {f"c{n}": v for n in range(12)} for m, v in (("a", 0.9), ("b", 0.5), ("c", 0.5))}
            >>> comparison_families("ES", values, baseline=None)[0].best
            'a'
        """
        wins = Counter(c.winner for c in self.pairs)
        others = len({label for c in self.pairs for label in (c.first, c.second)}) - 1
        return next((label for label, n in wins.items() if label is not None and n == others), None)


class _Differences(NamedTuple):
    """The differences of one pair by case, what its tests say, and the spread and units behind what can be seen.

    ``reach``: gives, for a level, the smallest difference whose interval would exclude 0.
    """

    gaps: Floats
    interval: Interval
    only_one: int
    p: float | None
    test: Test
    sd: float
    units: int
    reach: Callable[[float], float | None]


def comparison_families(
    metric: str,
    values: Mapping[str, Mapping[str, float]],
    *,
    baseline: str | None,
    higher: bool = True,
    scale: Scale | None = None,
    unit: str = "points",
    items: ItemPairs | None = None,
    interval_of: IntervalOf | None = None,
    control_methods: Collection[str] = (),
    against: str | None = None,
) -> tuple[ComparisonFamily, ...]:
    """All pairs of methods as one family, every method against no edit as another; control methods are a family apart.

    Args:
        metric: Title for the tables.
        values: Label -> case key -> value of the case, in the order of the tables.
        baseline: Label of the unedited model, where it is among them.
        higher: Whether more is better.
        scale: Lowest and highest possible value of a case; None where there is none.
        unit: Of the differences: ``fraction``, ``points``, or ``ratio`` where the values are logarithms.
        items: Prompts of two methods with their neighbour facts; None where no prompt has one.
        interval_of: The difference of two methods, where it is no mean over cases (pooled over questions).
        control_methods: Labels of controls: compared with no edit only, in a family of their own.
        against: The question is about this method alone: it is compared with every other and with no edit, and no
            other pair is; a label that is not among them changes nothing.

    Returns:
        Families with at least one comparison.

    Example:
        >>> scores = {"none": {"a": 0.0, "b": 0.0}, "ft": {"a": 1.0, "b": 1.0}, "rome": {"a": 1.0, "b": 0.0}}
        >>> [(f.kind, len(f.pairs)) for f in comparison_families("ES", scores, baseline="none")]
        [('among', 1), ('against', 2)]
    """
    out = []
    for kind, wanted in _family_pairs(list(values), baseline, control_methods, against).items():
        if wanted:
            resampling = Resampling(max(2000, _DRAWS_A_TEST * len(wanted)))
            signs = sign_flips(np.array([_gaps_of_all(values, pair) for pair in wanted]), resampling)
            differences = {
                pair: _differences(values, pair, scale, items, interval_of, p)
                for pair, p in zip(wanted, signs, strict=True)
            }
            pairs = _family(metric, differences, unit, higher=higher, scale=scale)
            out.append(ComparisonFamily(metric, kind, pairs, resampling.resamples))
    return tuple(out)


def _family_pairs(
    labels: Sequence[str], baseline: str | None, control_methods: Collection[str], against: str | None
) -> dict[FamilyKind, list[tuple[str, str]]]:
    methods = [label for label in labels if label != baseline]
    rivals = [m for m in methods if m not in control_methods]
    asked = [against] if against in rivals else rivals
    pairs: dict[FamilyKind, list[tuple[str, str]]] = {"among": list(itertools.combinations(rivals, 2))}
    if against in rivals:
        pairs["among"] = [(against, m) for m in rivals if m != against]
    if baseline is not None and baseline in labels:
        pairs["against"] = [(label, baseline) for label in asked]
        pairs["control"] = [(label, baseline) for label in methods if label not in rivals]
    return pairs


def _gaps_of_all(values: Mapping[str, Mapping[str, float]], pair: tuple[str, str]) -> list[float]:
    """Differences of one pair over the cases of all methods; 0 where one of the two has no value."""
    first, second = values[pair[0]], values[pair[1]]
    keys = sorted({k for by_case in values.values() for k in by_case})
    return [first[k] - second[k] if k in first and k in second else 0.0 for k in keys]


def _differences(
    values: Mapping[str, Mapping[str, float]],
    pair: tuple[str, str],
    scale: Scale | None,
    items: ItemPairs | None,
    interval_of: IntervalOf | None,
    signs: float | None,
) -> _Differences:
    first, second = values[pair[0]], values[pair[1]]
    keys = sorted(first.keys() & second.keys())
    gaps = np.array([first[k] - second[k] for k in keys], dtype=np.float64)
    gaps[np.abs(gaps) < _SAME] = 0.0
    rows = [i for i in (items(*pair) if items is not None else ()) if i.case in first and i.case in second]
    interval = interval_of(*pair) if interval_of else difference_interval(first, second, scale=scale, items=rows)
    only_one = len(first.keys() ^ second.keys())
    if not keys:
        return _Differences(gaps, interval, only_one, None, "sign-flip", 0.0, 0, lambda _: None)
    bounded = difference_p(first, second, scale=scale, items=rows)
    reach = partial(difference_reach, first, second, scale=scale, items=rows)
    test: Test
    p: float | None
    if rows and recurs([i.case for i in rows], [i.neighbour for i in rows]):
        p, sd, units = _two_way(rows, float(gaps.mean()))
        test = "two-way t" if bounded is None else "two-way t and interval"
    else:
        p, sd, units = signs, float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0, len(gaps)
        test = "sign-flip" if bounded is None else "sign-flip and interval"
    p = None if p is None else max(p, bounded or 0.0)
    return _Differences(gaps, interval, only_one, p, test, sd, units, reach)


def _two_way(rows: Sequence[PairedItem], mean: float) -> tuple[float, float, int]:
    """P of a t test with the two-way clustered error, the spread of one unit, and the units.

    Where nothing varies, all units agree: p is that of as many equal signs.
    """
    from scipy import stats  # type: ignore[import-untyped]

    gaps = [i.first - i.second for i in rows]
    spread = crossed_spread(gaps, [i.case for i in rows], [str(i.neighbour) for i in rows])
    units = int(spread.units)
    if not varies(spread.variance, mean) or units < 2:
        return (1.0 if abs(mean) < _SAME else smallest_p(units)), 0.0, units
    t = abs(mean) / math.sqrt(spread.variance)
    return float(2 * stats.t.sf(t, units - 1)), math.sqrt(spread.variance * units), units


def _family(
    metric: str, differences: Mapping[tuple[str, str], _Differences], unit: str, *, higher: bool, scale: Scale | None
) -> tuple[PairwiseTest, ...]:
    tests = max(1, sum(one.p is not None for one in differences.values()))
    corrected = holm({str(n): one.p for n, one in enumerate(differences.values())})
    out = []
    for n, ((first, second), one) in enumerate(differences.items()):
        up, down = int((one.gaps > 0).sum()), int((one.gaps < 0).sum())
        better, worse = (up, down) if higher else (down, up)
        never = one.units > 0 and _least_p(one, scale) * tests >= LEVEL
        seen = None if never else _detectable(one, tests, scale)
        gap = (one.interval if one.interval.ends else one.interval.alone)._replace(n=len(one.gaps), unit=unit)
        factors = unit == RATIO
        out.append(
            PairwiseTest(
                *(metric, first, second, exponential(gap, unit) if factors else gap, one.p, corrected[str(n)]),
                wins=better,
                ties=len(one.gaps) - up - down,
                losses=worse,
                only_one=one.only_one,
                detectable=math.exp(seen) if factors and seen is not None else seen,
                verdict=_verdict(one.interval, corrected[str(n)], up + down, higher=higher),
                test=one.test,
                never=never,
                on_scale=scale is not None or one.interval.kind == POOLED,
            )
        )
    return tuple(out)


def _least_p(one: _Differences, scale: Scale | None) -> float:
    """The smallest p that the deciding tests can have with these units, whatever comes out."""
    if not one.test.startswith("two-way"):
        return smallest_p(one.units)
    if scale is None or one.units < 2:
        return 0.0 if one.units > 1 else 1.0
    highest, lowest = (dict.fromkeys(map(str, range(one.units)), end) for end in reversed(scale))
    return difference_p(highest, lowest, scale=scale) or 0.0


def _detectable(one: _Differences, tests: int, scale: Scale | None) -> float | None:
    """Smallest true difference that the tests of a family find with the power wanted; None where nothing varies.

    That of a t test of normal differences, and more where other tests decide: signs that decide only where all are
    alike must all be so in ``POWER`` of the samples; and at least the interval's reach at the corrected level and the
    spread of the mean beyond (found in 67 to 85 %: least where the scale is wide).
    No case differs by more than the whole scale, and all that do so decide, so there is nothing beyond it to detect.
    """
    from scipy import stats

    if one.sd <= _SAME or one.units < 2:
        return None
    seen = smallest_detectable(sd=one.sd, n=one.units, power=POWER, level=LEVEL, family=tests)
    if not one.test.startswith("two-way") and 2 * smallest_p(one.units) * tests >= LEVEL:
        seen = max(seen, one.sd * float(stats.norm.ppf(POWER ** (1 / one.units))))
    reach = one.reach(LEVEL / tests)
    beyond = float(stats.norm.ppf(POWER)) * one.sd / math.sqrt(one.units)
    seen = seen if reach is None else max(seen, reach + beyond)
    return seen if scale is None else min(seen, scale[1] - scale[0])


def _verdict(gap: Interval, p: float | None, differing: int, *, higher: bool) -> Verdict:
    if gap.mean is None:
        return "undefined"
    if not differing:
        return "equal"
    if p is None or p >= LEVEL or gap.n < LEAST_CASES:
        return "undecided"
    return "first" if (gap.mean > 0) == higher else "second"
