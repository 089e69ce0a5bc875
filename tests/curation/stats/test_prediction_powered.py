"""The prediction-powered estimate: against plain formulas, by hand, and its coverage by simulation."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import binomtest

from curation.stats.bounded import clustered_interval
from curation.stats.intervals import LEAST_CASES
from curation.stats.prediction_powered import (
    Unit,
    calibrate,
    contributions,
    difference,
    scripts_needed,
    variance,
)


def draw(
    rng: np.random.Generator,
    *,
    cases: int = 200,
    scripts: int = 2,
    share: float = 0.2,
    level: float = 4.2,
    noise: float = 0.8,
    hard: np.ndarray | None = None,
) -> list[Unit]:
    """Scripts of a method on the 7-point scale: the judge follows people, with noise, and is too kind by 1.5.

    Args:
        rng: Draws everything.
        cases: Number of cases, each with so many ``scripts``.
        share: Of the scripts that people rate, drawn without replacement.
        level: Where people's ratings lie. ``noise``: the judge's. ``hard``: effects of the cases (drawn if not given).
    """
    effects = rng.normal(0, 1.0, cases) if hard is None else hard
    real = level + np.repeat(effects, scripts) + rng.normal(0, 0.9, cases * scripts)
    human = np.clip(np.round(real * 3) / 3, 1, 7)  # the mean of three people
    judge = np.clip(np.round(0.8 * human + 1.5 + rng.normal(0, noise, human.size)), 1, 7)
    rated = set(rng.choice(human.size, round(share * human.size), replace=False).tolist())
    return [
        Unit(f"c{k // scripts:04d}", float(judge[k]), float(human[k]) if k in rated else None, share)
        for k in range(human.size)
    ]


def test_the_value_is_that_of_the_plain_formula() -> None:
    """One script a case and equal probabilities: l mean_all(f) + mean_sample(y - l f) (PPI++, the mean)."""
    units = draw(np.random.default_rng(1), scripts=1)
    for weight in (0.0, 0.4, 1.0):
        shares = contributions(units, fixed=weight)
        sample = [(u.human, u.judge) for u in units if u.human is not None]
        plain = weight * fmean(u.judge for u in units) + fmean(y - weight * f for y, f in sample)
        assert shares.value == pytest.approx(plain, abs=1e-10)
        assert abs(shares.influence.mean()) < 1e-10 and shares.units == len(sample)
    assert contributions(units, fixed=0.0).value == pytest.approx(fmean(y for y, _ in sample))


def test_the_variance_is_that_of_the_plain_formula() -> None:
    """People alone: the variance of a mean. A judge on everything: of the mean over cases."""
    units = draw(np.random.default_rng(2), scripts=1)
    sample = [u.human for u in units if u.human is not None]
    assert variance(contributions(units, fixed=0.0)) == pytest.approx(np.var(sample, ddof=1) / len(sample))
    everything = [u._replace(human=u.judge, probability=1.0) for u in units]
    judges = [u.judge for u in units]
    assert variance(contributions(everything, fixed=0.0)) == pytest.approx(np.var(judges, ddof=1) / len(judges))


def test_case_means_count_once() -> None:
    """A case with nine scripts weighs as much as one with a single script."""
    units = [Unit("a", 1.0, 1.0) for _ in range(9)] + [Unit("b", 5.0, 5.0)]
    assert contributions(units, fixed=0.0).value == 3.0
    many = [Unit(f"c{n}", 4.0, 4.0) for n in range(20)]
    calibration = calibrate(many)
    assert (calibration.powered.value, calibration.powered.low, calibration.cases, calibration.labelled) == (
        4.0,
        None,
        20,
        20,
    )


def test_a_perfect_judge_is_used_wholly_and_a_random_one_hardly() -> None:
    rng = np.random.default_rng(7)
    human = rng.integers(1, 8, 300).astype(float)
    selection = rng.random(300) < 0.2
    perfect = [Unit(f"c{n}", y, y if c else None, 0.2) for n, (y, c) in enumerate(zip(human, selection, strict=True))]
    calibration = calibrate(perfect)
    assert calibration.weight is not None and calibration.weight > 0.9 and calibration.saved and calibration.saved > 3
    assert calibration.powered.value == pytest.approx(human.mean(), abs=0.02)
    assert abs(calibration.human.value - human.mean()) > 0.05, "so the judge did it"  # type: ignore[operator]
    kinder = [u._replace(judge=u.judge + 1.5) for u in perfect]
    assert calibrate(kinder).powered.value == pytest.approx(calibration.powered.value), "a constant offset is taken out"
    assert calibrate(kinder).bias.value == pytest.approx(1.5)
    noise = [u._replace(judge=float(rng.integers(1, 8))) for u in perfect]
    noise_calibration = calibrate(noise)
    assert noise_calibration.weight is not None and noise_calibration.weight < 0.35
    assert noise_calibration.powered.high - noise_calibration.powered.low < 1.08 * (
        noise_calibration.human.high - noise_calibration.human.low
    )  # type: ignore[operator]


def test_too_few_labels_say_so() -> None:
    units = [Unit(f"c{n}", 4.0, 4.0 if n < LEAST_CASES - 1 else None, 0.5) for n in range(30)]
    calibration = calibrate(units)
    assert (
        calibration.powered.text() == "undefined, because people rated 4 cases, fewer than 5"
        and calibration.weight is None
    )
    assert calibration.judge.value == 4.0 and calibration.saved is None
    assert not difference(units, units).defined
    assert scripts_needed(units, 0.3).scripts is None
    with pytest.raises(ValueError, match="no unit has a human rating"):
        contributions([Unit("a", 1.0)])


def test_no_interval_leaves_the_scale() -> None:
    """Two cases have no interval; near the ceiling Student's reaches beyond 7."""
    two = calibrate([Unit("a", 1.0), Unit("b", 7.0)], scale=(1.0, 7.0)).judge
    assert two.low is two.high is None and two.value == 4.0
    values = (7.0, 7.0, 6.5, 7.0, 6.4, 7.0, 6.2, 7.0, 6.0, 5.5, 1.0, 7.0)
    units = [Unit(f"c{n}", max(1.0, y - (n % 2)), y, 0.5) for n, y in enumerate(values)]
    bounded_result, plain = calibrate(units, scale=(1.0, 7.0)), calibrate(units)
    assert plain.human.high is not None and plain.human.high > 7.0 and bounded_result.human.high == 7.0
    assert bounded_result.human.low == plain.human.low and bounded_result.powered.value == plain.powered.value
    ones = [Unit(u.case, 1.0, 1.0 + 0.01 * n, 0.5) for n, u in enumerate(units)]
    assert difference(units, ones).high > 6.0 >= difference(units, ones, scale=(1.0, 7.0)).high  # type: ignore[operator]


def test_the_judge_alone_has_the_interval_of_the_tables_of_ratings() -> None:
    units = draw(np.random.default_rng(3), cases=20, scripts=2)
    calibration = calibrate(units, scale=(1.0, 7.0)).judge
    table = clustered_interval([u.judge for u in units], [u.case for u in units], scale=(1.0, 7.0))
    assert (calibration.low, calibration.high) == table.ends and calibration.value == pytest.approx(table.mean)


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        (Unit("a", math.nan), "not finite"),
        (Unit("a", 1.0, math.nan), "not finite"),
        (Unit("a", 1.0, 1.0, 0.0), "sampling probability"),
        (Unit("a", 1.0, 1.0, 1.5), "sampling probability"),
    ],
)
def test_bad_units_are_refused(unit: Unit, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        calibrate([unit])
    assert calibrate([Unit("a", 1.0, None, 0.0)]).labelled == 0, "a probability is only read of what was rated"


def test_a_difference_is_paired_by_case() -> None:
    """Two methods that share their hard cases: the interval is narrower than the two apart; to itself it is 0."""
    rng = np.random.default_rng(11)
    hard = rng.normal(0, 1.3, 200)
    one, two = draw(rng, hard=hard, level=4.8), draw(rng, hard=hard, level=4.0)
    gap = difference(one, two)
    a, b = calibrate(one).powered, calibrate(two).powered
    assert gap.value == pytest.approx(a.value - b.value)  # type: ignore[operator]
    separate_result = math.hypot((a.high - a.low) / 2, (b.high - b.low) / 2)  # type: ignore[operator]
    assert (gap.high - gap.low) / 2 < 0.95 * separate_result  # type: ignore[operator]
    assert gap.p is not None and gap.p < 0.01
    same = difference(one, one)
    assert same.value == pytest.approx(0.0, abs=1e-12) and same.high is same.p is None
    half = [u for u in two if int(u.case[1:]) < 100]
    assert difference(one, half).cases == 100, "over the cases that both have"


def test_coverage() -> None:
    """150 studies of 120 cases with 20 % rated: the intervals hold, the judge's own does not, and they are narrower."""
    panel = draw(np.random.default_rng(99), cases=60_000, scripts=1, share=1.0)
    truth = fmean(u.human for u in panel if u.human is not None)
    hits, widths = np.zeros(3), np.zeros(3)
    for run in range(150):
        calibration = calibrate(draw(np.random.default_rng([5, run]), cases=120))
        for n, e in enumerate((calibration.powered, calibration.human, calibration.judge)):
            hits[n] += e.low <= truth <= e.high  # type: ignore[operator]
            widths[n] += e.high - e.low  # type: ignore[operator]
    for count in hits[:2]:
        interval = binomtest(int(count), 150).proportion_ci(0.999)
        assert interval.low <= 0.95 <= interval.high, hits
    assert hits[2] < 15 and widths[0] < 0.9 * widths[1]


@pytest.mark.parametrize("value", [7.0, 1 / 3, 0.1])
def test_where_all_agree_no_significance_is_invented(value: float) -> None:
    """Differences and errors are rounding noise: their quotient says nothing (it used to give p < 0.001)."""
    for count in (11, 13, 20):
        units = [Unit(f"c{n}", value, value if n < count else None, 0.3) for n in range(3 * count)]
        calibration = calibrate(units)
        for one in (calibration.powered, calibration.human, calibration.judge, calibration.bias):
            assert one.low is one.high is one.p is None and one.note.startswith("undefined, because all agree")
        assert calibration.saved is None
        assert f"up to {100 * (1 - 0.025 ** (1 / count)):.0f} %" in calibration.human.note
        other = [u._replace(judge=u.judge + 0.7) for u in units]
        gap = difference(units, other)
        assert gap.p is None and gap.low is None and "all agree" in gap.text()
        assert scripts_needed(units, 0.3).scripts is None and "all agree" in scripts_needed(units, 0.3).reason


def test_near_the_ceiling_and_with_unequal_chances_no_interval_is_made_up() -> None:
    """94 % sevens: coverage was 30 to 76 %. Four of twenty that differ are refused, five are not; so is no p."""
    few, enough = ([Unit(f"c{n}", 6.0, 6.0 if n < d else 7.0) for n in range(20)] for d in (4, 5))
    calibration = calibrate(few)
    assert (
        calibration.powered.low is None
        and calibration.human.low is None
        and "4 differ (5 are needed)" in calibration.powered.note
    )
    assert calibration.powered.value == pytest.approx(6.8), "the estimate itself stands"
    assert calibrate(enough).human.low is not None
    spread = [Unit(f"c{n}", 4.0, float(n % 5 + 1)) for n in range(20)]
    gap = difference(few, spread)
    assert gap.low is None and gap.p is None and gap.value is not None
    unequal = [u._replace(probability=0.02 if n < 3 else 1.0) for n, u in enumerate(spread)]
    assert "weigh as much as" in calibrate(unequal).powered.note and calibrate(unequal).powered.low is None
    assert calibrate([u._replace(probability=0.02) for u in spread]).powered.low is not None, "equal ones may be small"


def test_labels_needed() -> None:
    units = draw(np.random.default_rng(12), noise=0.5)
    calibration = calibrate(units)
    half = (calibration.powered.high - calibration.powered.low) / 2  # type: ignore[operator]
    now = scripts_needed(units, half)
    total = sum(u.human is not None for u in units)
    assert now.scripts is not None and now.alone is not None
    assert abs(now.scripts - total) <= 1, "the width that is there needs what is there"
    assert now.alone > 1.5 * now.scripts and now.more == max(0, now.scripts - total)
    wider = scripts_needed(units, 2 * half)
    assert wider.more == 0 and wider.scripts < now.scripts  # type: ignore[operator]
    assert "more cases are needed" in scripts_needed(units, 0.01).reason
    with pytest.raises(ValueError, match="above 0"):
        scripts_needed(units, 0.0)
