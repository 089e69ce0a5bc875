"""A judge calibrated to people: prediction-powered estimates (PPI++, Angelopoulos, Duchi and Zrnic 2023).

**Estimand.** What the panel of people would say on average: the mean over cases of the mean over their scripts of the
panel's mean rating. It is not the truth about the scripts, and another panel has another mean. People rate a random
sample of the scripts, each drawn with a recorded probability; the judge rates all of them. The estimate is the judge's
mean over everything, corrected by what people say beyond the judge on the sample:

    theta(l) = mean_all(l f) + mean_sample((y - l f) / p)

with ``f`` the judge's score, ``y`` the people's, ``p`` the probability, and ``l`` between 0 (people alone) and 1 (the
whole judge), chosen to make the variance smallest. The choice is cross-fitted: a case's ``l`` is learnt from other
cases. The sampling weights are normalised (Hajek), and everything is clustered by case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from curation.stats.bounded import Scale, clustered_interval
from curation.stats.estimates import Estimate, Floats, Ints, number_groups, undefined
from curation.stats.intervals import LEAST_CASES, NO_SPREAD, not_excluded, skew_shift, varies, why_unsupported
from schemas.core.ids import seed
from schemas.text.counting import counted

FOLDS = 5
_QUANTILE = 0.975  # of Student's t, for a 95 % interval


class Unit(NamedTuple):
    """One script under one aspect.

    Attributes:
        case: Its case.
        judge: The judge's score; every unit has one (unscored ones are left out and counted by the caller).
        human: The people's mean; None where it was not rated by people.
        probability: With which it came into the people's sample; only read where ``human`` is there.
    """

    case: str
    judge: float
    human: float | None = None
    probability: float = 1.0


class Contributions(NamedTuple):
    """What every case adds to an estimate.

    Attributes:
        cases: Their keys.
        value: The estimate.
        influence: Array (cases,) with mean 0: the estimate's error is about its mean.
        weight: The ``l`` that was used, mean over cases.
        labelled: Cases with at least one human rating.
        units: Scripts with one.
        steady: Part of the variance that more ratings of these scripts would leave as it is.
        sampling: Part that falls as one over the number of rated scripts.
        refused: Why simulation supports no interval; empty where it does.
    """

    cases: tuple[str, ...]
    value: float
    influence: Floats
    weight: float
    labelled: int
    units: int
    steady: float
    sampling: float
    refused: str = ""


class CalibratedEstimates(NamedTuple):
    """The three estimates of one method and aspect, side by side.

    Attributes:
        powered: The prediction-powered estimate; its interval is what to report.
        human: People alone, from the same sample.
        judge: The judge alone: an interval around the judge's mean, which may be far from the people's.
        bias: What the judge says above (+) or below (-) the people on the sample.
        weight: How much of the judge is used, 0 to 1.
        labelled: Cases with a human rating, of ``cases``.
        saved: How many times as many labelled cases people alone would need for the same width; None if unknown.
    """

    powered: Estimate
    human: Estimate
    judge: Estimate
    bias: Estimate
    weight: float | None
    labelled: int
    cases: int
    saved: float | None


def calibrate(units: Sequence[Unit], *, scale: Scale | None = None) -> CalibratedEstimates:
    """Estimate the panel's mean of one method on one aspect.

    Args:
        units: All scripts with a judge's score, those that people rated with the people's mean and its probability.
        scale: Lowest and highest possible rating; no interval leaves it, and that of the judge alone is the default one
            of a mean on a scale (``clustered_interval``). None where there is none.

    Raises:
        ValueError: a probability outside 0 to 1, or a value that is not finite.

    Example:
        >>> units = [Unit(f"c{n}", n % 7 + 1.0, n % 7 + 1.0 if n < 20 else None, 0.2) for n in range(100)]
        >>> found = calibrate(units)
        >>> found.labelled, found.weight > 0.9, found.powered.high - found.powered.low < 1
        (20, True, True)
    """
    check(units)
    cases = len({u.case for u in units})
    alone = _judge_alone(units, scale)
    labelled = len({u.case for u in units if u.human is not None})
    if labelled < LEAST_CASES:
        why = f"people rated {counted(labelled, 'case')}, fewer than {LEAST_CASES}"
        none = [undefined(x, why, n=labelled, cases=cases) for x in ("prediction-powered", "people alone", "bias")]
        return CalibratedEstimates(none[0], none[1], alone, none[2], None, labelled, cases, None)
    powered, people = contributions(units), contributions(units, fixed=0.0)
    bias = contributions([u._replace(human=None if u.human is None else u.judge - u.human) for u in units], fixed=0.0)
    one, two = variance(powered), variance(people)
    return CalibratedEstimates(
        powered=_within(_estimate("prediction-powered", powered), scale),
        human=_within(_estimate("people alone", people), scale),
        judge=alone,
        bias=_within(_estimate("judge less people", bias), _gap_scale(scale)),
        weight=powered.weight,
        labelled=labelled,
        cases=cases,
        saved=None if agree(powered) else two / one,
    )


def difference(first: Sequence[Unit], second: Sequence[Unit], *, scale: Scale | None = None) -> Estimate:
    """The panel's mean of one method less that of another, over the cases that both have; paired by case.

    Args:
        first: Units of the one.
        second: Units of the other; each may have a sample of its own.
        scale: Lowest and highest possible rating.
    """
    name = "prediction-powered difference"
    check([*first, *second])
    both = {u.case for u in first} & {u.case for u in second}
    sides = [[u for u in side if u.case in both] for side in (first, second)]
    few = min(len({u.case for u in side if u.human is not None}) for side in sides)
    if few < LEAST_CASES:
        return undefined(
            name, f"people rated fewer than {LEAST_CASES} common cases of one side: {few}", cases=len(both)
        )
    a, b = (contributions(side) for side in sides)
    order = {case: n for n, case in enumerate(b.cases)}
    gap = a.influence - b.influence[[order[case] for case in a.cases]]
    merged = a._replace(
        value=a.value - b.value,
        influence=gap,
        labelled=min(a.labelled, b.labelled),
        refused=a.refused or b.refused,
    )
    estimate = _estimate(name, merged._replace(units=a.units + b.units))
    return _within(estimate._replace(p=_p_value(merged)), _gap_scale(scale))


def contributions(units: Sequence[Unit], *, fixed: float | None = None) -> Contributions:
    """What every case adds to the prediction-powered estimate.

    Args:
        units: All scripts of a method and aspect, some with a human rating.
        fixed: A weight of the judge that is given; None to choose the best one, of a case from other cases only.

    Raises:
        ValueError: nobody was rated by people.
    """
    cases = number_groups([u.case for u in units])
    n = len(cases.names)
    judge = np.bincount(cases.of, weights=[u.judge for u in units], minlength=n) / np.bincount(cases.of, minlength=n)
    center = float(judge.mean())
    mass, human, judged = _weigh_sample(units, cases.of, n, center)
    if not mass.any():
        raise ValueError("no unit has a human rating")
    if fixed is None:
        weights = _cross_fitted(cases.names, mass, human, judged, judge - center)
    else:
        weights = np.full(n, fixed)
    rest = human - weights * judged
    from_all, from_sample = weights * (judge - center), rest / mass.mean()
    beyond = float(rest.sum() / mass.sum())
    value = float(from_all.mean()) + beyond
    part, rest_part = from_all - from_all.mean(), from_sample - beyond * mass / mass.mean()
    steady = float((part**2).sum() + 2 * (part * rest_part).sum()) / n**2
    sampling = float((rest_part**2).sum()) / n**2
    rated = sum(u.human is not None for u in units)
    labelled, weight = int((mass > 0).sum()), float(weights.mean())
    refused = why_unsupported([(u.case, u.human, u.probability) for u in units if u.human is not None])
    return Contributions(cases.names, value, part + rest_part, weight, labelled, rated, steady, sampling, refused)


def variance(contributions: Contributions) -> float:
    """Variance of an estimate: that of a mean of independent cases, with the factor n/(n - 1) of the labelled ones.

    The labelled cases carry most of the spread, and a few of them understate it, so theirs is the correction.
    """
    n, few = len(contributions.cases), contributions.labelled
    return float((contributions.influence**2).sum() / n**2) * few / max(few - 1, 1)


def best_weight(mass: Floats, human: Floats, judged: Floats, all_judge: Floats) -> float:
    """The weight of the judge that makes the variance smallest, clipped to 0 to 1.

    With influence ``a - l b`` of every case the best ``l`` is sum(a b) / sum(b b).

    Args:
        mass: Sampling weight of each case's rated scripts, (cases,).
        human: The same times the people's ratings, (cases,).
        judged: The same times the judge's centred ratings, (cases,).
        all_judge: Centred judge's means, (cases,).
    """
    if not mass.any():
        return 0.0
    mean = mass.mean()
    a = (human - human.sum() / mass.sum() * mass) / mean
    b = (judged - judged.sum() / mass.sum() * mass) / mean - (all_judge - all_judge.mean())
    square = float((b * b).sum())
    return min(1.0, max(0.0, float((a * b).sum()) / square)) if square > 0 else 0.0


def _cross_fitted(names: Sequence[str], mass: Floats, human: Floats, judged: Floats, all_judge: Floats) -> Floats:
    """A weight for every case, learnt from the cases of other folds; labelled cases are spread evenly."""
    order = sorted(range(len(names)), key=lambda k: (mass[k] == 0, seed("calibration", names[k]), names[k]))
    folds = min(FOLDS, int((mass > 0).sum()))
    fold = np.empty(len(names), dtype=np.int64)
    fold[order] = np.arange(len(names)) % folds
    weights = np.empty(len(names))
    for k in range(folds):
        others = fold != k
        weights[fold == k] = best_weight(mass[others], human[others], judged[others], all_judge[others])
    return weights


def _weigh_sample(units: Sequence[Unit], of: Ints, n: int, center: float) -> tuple[Floats, Floats, Floats]:
    """Sampling weight of each case, the same times people's ratings, and times the judge's, all (cases,).

    A unit counts one over its case's number of units and its probability; so the mean of the weights is about 1.
    """
    sizes = np.bincount(of, minlength=n)
    mass, human, judged = np.zeros(n), np.zeros(n), np.zeros(n)
    for unit, case in zip(units, of.tolist(), strict=True):
        if unit.human is not None:
            w = 1.0 / (sizes[case] * unit.probability)
            mass[case] += w
            human[case] += w * unit.human
            judged[case] += w * (unit.judge - center)
    return mass, human, judged


def _estimate(name: str, contributions: Contributions) -> Estimate:
    value, units, cases = contributions.value, contributions.units, len(contributions.cases)
    if note := f"n = {cases}: too few" if cases < LEAST_CASES else why_no_interval(contributions):
        return Estimate(name, value, None, None, units, cases, note=note)
    from scipy import stats  # type: ignore[import-untyped]

    freedom, error = contributions.labelled - 1, math.sqrt(variance(contributions))
    t, third = float(stats.t.ppf(_QUANTILE, max(freedom, 1))), (contributions.influence**3).sum() / cases**3
    shift = skew_shift(float(third), error, t)
    method = f"clustered by case, t with {freedom} degrees of freedom, 95 %"
    low, high = min(value - t * error, value - t * error + shift), max(value + t * error, value + t * error + shift)
    return Estimate(name, value, low, high, units, cases, method)


def _judge_alone(units: Sequence[Unit], scale: Scale | None) -> Estimate:
    """The mean of the judge's case means, with the interval that tables of ratings print for it."""
    everything = [Unit(u.case, u.judge, u.judge, 1.0) for u in units]  # the judge in the place of people
    plain = contributions(everything, fixed=0.0)
    estimate = _estimate("judge alone", plain)
    if scale is None or agree(plain):
        return _within(estimate, scale)
    on_scale = clustered_interval([u.judge for u in units], [u.case for u in units], scale=scale)
    if on_scale.ends is None:
        return estimate
    low, high = on_scale.ends
    return estimate._replace(low=low, high=high, method=f"{on_scale.kind}, 95 %", note="")


def _gap_scale(scale: Scale | None) -> Scale | None:
    """What the difference of two values of a scale may be."""
    return None if scale is None else (scale[0] - scale[1], scale[1] - scale[0])


def _within(estimate: Estimate, scale: Scale | None) -> Estimate:
    """The estimate with an interval that does not leave the scale, save for an estimate beyond its end."""
    if scale is None or estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    low, high = max(estimate.low, scale[0]), min(estimate.high, scale[1])
    return estimate._replace(low=min(low, estimate.value), high=max(high, estimate.value))


def agree(estimate: Contributions) -> bool:
    """Whether all cases that carry an estimate agree, rounding aside: there is no spread to make an interval of."""
    return not varies(variance(estimate), estimate.value)


def why_no_interval(estimate: Contributions) -> str:
    """Why there is no interval; where all agree, with the exact (Clopper-Pearson) bound of what they leave possible."""
    if not agree(estimate):
        return estimate.refused
    bound = 100 * not_excluded(max(estimate.labelled, 1))
    cases = counted(estimate.labelled, "rated case")
    return f"{NO_SPREAD} ({cases}; up to {bound:.0f} % of all cases may differ)"


def _p_value(estimate: Contributions) -> float | None:
    """Two-sided p that the estimate is 0; None where all agree."""
    if why_no_interval(estimate):
        return None
    from scipy import stats

    error = math.sqrt(variance(estimate))
    return float(2 * stats.t.sf(abs(estimate.value) / error, max(estimate.labelled - 1, 1)))


def check(units: Sequence[Unit]) -> None:
    """Refuse values that are no numbers and probabilities that are none.

    Raises:
        ValueError: says which.
    """
    for u in units:
        if not math.isfinite(u.judge) or (u.human is not None and not math.isfinite(u.human)):
            raise ValueError(f"a value of case {u.case} is not finite; leave unscored units out and count them")
        if u.human is not None and not 0 < u.probability <= 1:
            raise ValueError(f"a sampling probability of {u.probability} in case {u.case} is not above 0 and at most 1")


class LabelBudget(NamedTuple):
    """Labels for a wanted width.

    Attributes:
        scripts: Scripts with a human rating in all; None where no number of these scripts will do, or it is not known.
        more: Of them still to be rated.
        alone: How many people alone would need in all; None where all scripts are too few.
        reason: Why there is no number.
    """

    scripts: int | None
    more: int | None
    alone: int | None
    reason: str = ""


def scripts_needed(units: Sequence[Unit], half_width: float) -> LabelBudget:
    """How many scripts people have to rate until the interval is twice ``half_width`` wide, the judge being as now.

    With n rated scripts the variance is a part that stays plus a part that falls as 1/n; both are read off the present
    sample, so the answer is as rough as that is.

    Args:
        units: As ``calibrate`` takes them.
        half_width: Wanted, in points of the scale.
    """
    if half_width <= 0:
        raise ValueError("a half width is above 0")
    check(units)
    labelled = len({u.case for u in units if u.human is not None})
    if labelled < LEAST_CASES:
        return LabelBudget(
            None, None, None, f"people rated {counted(labelled, 'case')}, fewer than {LEAST_CASES}: no spread is known"
        )
    parts, people = contributions(units), contributions(units, fixed=0.0)
    if why := why_no_interval(parts):
        return LabelBudget(None, None, None, f"{why}: how many ratings are enough is not known")
    scripts = _smallest_number(half_width, parts, len(units))
    alone = _smallest_number(half_width, people, len(units))
    if scripts is None:
        return LabelBudget(None, None, alone, f"not even with all {len(units)} scripts rated: more cases are needed")
    return LabelBudget(scripts, max(0, scripts - parts.units), alone)


def _smallest_number(half: float, contributions: Contributions, scripts: int) -> int | None:
    """The smallest number of rated scripts that is enough, or None."""
    from scipy import stats  # type: ignore[import-untyped]

    third = float((contributions.influence**3).sum()) / len(contributions.cases) ** 3
    for n in range(LEAST_CASES, scripts + 1):
        cases = min(len(contributions.cases), max(2, round(n * contributions.labelled / contributions.units)))
        quantile = float(stats.t.ppf(_QUANTILE, cases - 1))
        spread = (contributions.steady + contributions.sampling * contributions.units / n) * cases / (cases - 1)
        shift = skew_shift(third * (contributions.units / n) ** 2, math.sqrt(spread), quantile) if spread > 0 else 0.0
        if quantile * math.sqrt(spread) + abs(shift) / 2 <= half:
            return n
    return None
