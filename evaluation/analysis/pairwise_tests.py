"""Methods compared in pairs over the same cases: families of comparisons, corrected, with what could have been seen."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from curation.stats.bootstrap import Resampling
from curation.stats.paired import compare, holm, smallest_detectable

LEVEL = 0.05
POWER = 0.8
_DRAWS_A_TEST = 400  # so that p = 0.05 / family is reached with some 20 hits to spare
Verdict = Literal["first", "second", "undecided", "equal", "undefined"]


class PairwiseTest(NamedTuple):
    """Two methods under one metric.

    Attributes:
        metric: Title of the metric or aspect. ``first``, ``second``: labels of the methods.
        difference: Mean of first minus second over the cases that both have, in the metric's unit, or None.
        low: Lower end of its 95 % case bootstrap interval, or None. ``high``: the upper end.
        p: Two-sided p of the sign-flip permutation test by case. ``p_holm``: corrected for the family.
        wins: Cases where the first is better (as the metric says what is better). ``ties``, ``losses``: the others.
        cases: Cases that both have. ``only_one``: cases that one of them lacks.
        detectable: Smallest true difference that these cases show with 80 % power at the level of the family's hardest
            step, or None where the differences do not vary.
        verdict: Who is better at a corrected p below 0.05; ``equal`` where no case differs.
    """

    metric: str
    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    wins: int
    ties: int
    losses: int
    cases: int
    only_one: int
    detectable: float | None
    verdict: Verdict


class ComparisonFamily(NamedTuple):
    """Comparisons that are corrected together: one metric, ``among`` the methods or each ``against no edit``."""

    metric: str
    kind: Literal["among", "against"]
    higher: bool
    contests: tuple[PairwiseTest, ...]
    draws: int


def comparison_families(
    metric: str,
    values: Mapping[str, Mapping[str, float]],
    *,
    baseline: str | None,
    higher: bool = True,
    seed: int = 0,
) -> tuple[ComparisonFamily, ...]:
    """All pairs of methods as one family, and every method against no edit as another.

    Args:
        metric: Title for the tables.
        values: Label -> case key -> value of the case, in the order of the tables.
        baseline: Label of the unedited model, where it is among them.
        higher: Whether more is better.
        seed: Of the bootstrap and of the drawn sign patterns.

    Returns:
        Families with at least one comparison.

    Example:
        >>> scores = {"none": {"a": 0.0, "b": 0.0}, "ft": {"a": 1.0, "b": 1.0}, "rome": {"a": 1.0, "b": 0.0}}
        >>> [(f.kind, len(f.contests)) for f in comparison_families("ES", scores, baseline="none")]
        [('among', 1), ('against', 2)]
    """
    methods = [label for label in values if label != baseline]
    pairs = {"among": list(itertools.combinations(methods, 2)), "against": []}
    if baseline is not None and baseline in values:
        pairs["against"] = [(label, baseline) for label in methods]
    out = []
    for kind, wanted in pairs.items():
        if wanted:
            contests, draws = _family(metric, wanted, values, higher=higher, seed=seed)
            out.append(ComparisonFamily(metric, "among" if kind == "among" else "against", higher, contests, draws))
    return tuple(out)


def _family(
    metric: str,
    pairs: Sequence[tuple[str, str]],
    values: Mapping[str, Mapping[str, float]],
    *,
    higher: bool,
    seed: int,
) -> tuple[tuple[PairwiseTest, ...], int]:
    how = Resampling(max(2000, _DRAWS_A_TEST * len(pairs)), seed=seed)
    found = {pair: compare(values[pair[0]], values[pair[1]], resampling=how) for pair in pairs}
    tests = sum(one.difference.p is not None for one in found.values())
    corrected = holm({f"{n}": found[pair].difference.p for n, pair in enumerate(pairs)})
    out = []
    for n, pair in enumerate(pairs):
        one, d = found[pair], found[pair].difference
        seen = None
        if one.sd and d.cases > 1:
            seen = smallest_detectable(sd=one.sd, n=d.cases, power=POWER, level=LEVEL, family=max(tests, 1))
        better, worse = (one.wins, one.losses) if higher else (one.losses, one.wins)
        out.append(
            PairwiseTest(
                metric=metric,
                first=pair[0],
                second=pair[1],
                difference=d.value,
                low=d.low,
                high=d.high,
                p=d.p,
                p_holm=corrected[f"{n}"],
                wins=better,
                ties=one.ties,
                losses=worse,
                cases=d.cases,
                only_one=one.only_first + one.only_second,
                detectable=seen,
                verdict=_verdict(d.value, corrected[f"{n}"], better + worse, higher=higher),
            )
        )
    return tuple(out), how.resamples


def _verdict(gap: float | None, p: float | None, differing: int, *, higher: bool) -> Verdict:
    if gap is None or p is None:
        return "undefined"
    if not differing:
        return "equal"
    if p >= LEVEL:
        return "undecided"
    return "first" if (gap > 0) == higher else "second"
