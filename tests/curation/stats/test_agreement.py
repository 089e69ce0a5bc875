"""Agreement and rank correlations: published figures, by hand, and where they are undefined."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from curation.stats.agreement import (
    agreement,
    alpha,
    exact_agreement,
    gwet,
    leave_one_out,
    pairwise,
    prevalence,
    severity,
    within_one,
)
from curation.stats.bootstrap import Resampling
from curation.stats.correlation import (
    FEW_DIFFER,
    ceiling,
    kendall,
    mean_correlation,
    spearman,
    weighted_correlations,
)
from curation.stats.rating_table import rating_table
from schemas.core.errors import UserError
from tests.support.stats.rating_tables import NAMES, NONE, SMALL, table

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve units, 0 for a gap
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]


def krippendorffs():
    return table([[v or None for v in row] for row in KRIPPENDORFF])


def from_square(square):
    """Two raters from a contingency table."""
    pairs = [(i, j) for i, row in enumerate(square) for j, n in enumerate(row) for _ in range(n)]
    return table([[p[0] for p in pairs], [p[1] for p in pairs]])


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(level, value):
    assert alpha(krippendorffs(), level=level, resampling=NONE).value == pytest.approx(value, abs=5e-4)


def test_another_level_is_refused():
    with pytest.raises(UserError, match="unknown level 'ratio'; allowed: nominal, ordinal, interval"):
        alpha(krippendorffs(), level="ratio")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dimension", "level", "value"),
    [
        ("consistency", "nominal", 0.4146),
        ("consistency", "ordinal", 0.5277),
        ("consistency", "interval", 0.5277),
        ("fluency", "nominal", 0.2816),
        ("fluency", "ordinal", 0.3714),
        ("fluency", "interval", 0.3714),
    ],
)
def test_human_study_of_rome(shared, dimension, level, value):
    with (shared / "data" / "rome_human_study" / "rankings.csv").open(newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["dimension"] == dimension]
    cases = {f"{r['case']}/{r['method']}": r["case"] for r in rows}
    study = rating_table([(f"{r['case']}/{r['method']}", r["participant"], int(r["rank"])) for r in rows], cases=cases)
    coefficient = alpha(study, level=level)
    assert coefficient.value == pytest.approx(value, abs=5e-5)
    assert (coefficient.n, coefficient.cases) == (150, 50)
    assert coefficient.low < coefficient.value < coefficient.high
    assert 0.15 < coefficient.high - coefficient.low < 0.35  # 50 cases do not pin alpha down


@pytest.mark.parametrize(
    ("columns", "scale", "statistic", "value"),
    [
        # n = 8 of which 3 ones, 5 twos; off-diagonal coincidences 2; expected 2·3·5/7: 1 - 2·7/30
        pytest.param(SMALL, None, lambda t: alpha(t, level="nominal", resampling=NONE), 8 / 15, id="alpha nominal"),
        # agreement 3/4, shares 3/8 and 5/8, chance 30/64
        pytest.param(SMALL, None, gwet, (48 - 30) / (64 - 30), id="AC1"),
        # with a third category that nobody used chance is halved: 30/128
        pytest.param(SMALL, (1, 2, 3), gwet, (96 - 30) / (128 - 30), id="AC1 depends on the scale"),
        # units (1,2) (3,3): agreement (3/4 + 1)/2; shares 1/4 1/4 1/2: 5/8; sum of weights 6 of 6: chance 5/8
        pytest.param([[1, 3], [2, 3]], (1, 2, 3), lambda t: gwet(t, weights="quadratic"), 2 / 3, id="AC2 quadratic"),
        pytest.param([[7, 7], [7, 7]], range(1, 8), gwet, 1.0, id="AC1 of equal ratings on a scale"),
        # three raters 1 2 2: one of three pairs agrees; and a unit with 4 4
        pytest.param([[1, 4], [2, 4], [2, None]], None, exact_agreement, (1 / 3 + 1) / 2, id="exact"),
        pytest.param([[1, 4], [2, 4], [3, None]], None, within_one, (2 / 3 + 1) / 2, id="within one"),
        pytest.param([[1, 5], [3, 5]], None, within_one, 0.5, id="within one is by value, not by position"),
    ],
)
def test_by_hand(columns, scale, statistic, value):
    assert statistic(table(columns, scale=scale)).value == pytest.approx(value)


def test_published_two_rater_example():
    """100 pregnancies, two abstractors: figures printed in the overview of the R package irrCAC (Gwet)."""
    table = from_square([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert gwet(table).value == pytest.approx(0.8493305, abs=5e-8)
    assert alpha(table, level="nominal", resampling=NONE).value == pytest.approx(0.7972585, abs=5e-8)
    assert exact_agreement(table).value == pytest.approx(0.89)
    # printed: 0.764 to 0.935, a normal approximation; ours is asymmetric and allows for two cases that were not seen
    assert gwet(table).low == pytest.approx(0.744, abs=0.015)
    assert gwet(table).high == pytest.approx(0.916, abs=0.015)


def test_many_units_of_one_case_have_no_interval():
    cells = table(SMALL, cases={f"u{n}": "the case" for n in range(4)})
    for result in (alpha(cells, level="nominal"), gwet(cells), exact_agreement(cells)):
        assert (result.n, result.cases, result.low) == (4, 1, None)
        assert result.note == "n = 1: too few"


def test_exact_agreement_of_one_unit_a_case_is_the_exact_interval():
    columns = [[1, 1, 2, 2, 3, 3], [1, 1, 2, 1, 1, 1]]
    result = exact_agreement(table(columns))
    exact = stats.binomtest(3, 6).proportion_ci()
    assert (result.value, result.cases) == (0.5, 6)
    assert (result.low, result.high) == pytest.approx((exact.low, exact.high))
    estimate = exact_agreement(table(columns, cases={f"u{n}": f"c{n // 2}" for n in range(6)}))
    assert (estimate.cases, estimate.low, estimate.note) == (3, None, "n = 3: too few")


@pytest.mark.parametrize(
    ("columns", "scale", "statistic", "reason"),
    [
        pytest.param([[1, 2, 3]], None, lambda t: alpha(t, level="ordinal"), "one rater", id="one rater"),
        pytest.param([[1, None], [None, 2]], None, lambda t: alpha(t, level="nominal"), "no unit", id="no overlap"),
        pytest.param([[None], [None]], (1, 2), lambda t: alpha(t, level="nominal"), "no rating", id="no rating"),
        pytest.param([[7, 7], [7, 7]], None, lambda t: alpha(t, level="ordinal"), "equal (7.0)", id="all equal"),
        pytest.param(
            [[7, 7], [7, 7]], range(1, 8), lambda t: alpha(t, level="ordinal"), "equal (7.0)", id="all equal on a scale"
        ),
        pytest.param(
            [[7, 7, 1], [7, 7, None]], None, lambda t: alpha(t, level="nominal"), "equal", id="all pairs equal"
        ),
        pytest.param(NAMES, None, lambda t: alpha(t, level="ordinal"), "without a declared order", id="names"),
        pytest.param(NAMES, ("drop", "keep"), lambda t: alpha(t, level="interval"), "not numbers", id="ordered names"),
        pytest.param([[7, 7], [7, 7]], None, gwet, "no other category", id="AC1 of one category"),
        pytest.param([[1, 2]], None, gwet, "one rater", id="AC1 of one rater"),
        pytest.param(NAMES, None, lambda t: gwet(t, weights="quadratic"), "declared order", id="AC2 of names"),
        pytest.param([[1], [None]], None, exact_agreement, "one rater", id="exact of one rater"),
        pytest.param(NAMES, None, within_one, "declared order", id="within one of names"),
    ],
)
def test_undefined_says_why(columns, scale, statistic, reason):
    coefficient = statistic(table(columns, scale=scale))
    assert coefficient.value is coefficient.low is coefficient.high is None
    assert reason in coefficient.reason
    assert coefficient.text().startswith("undefined, because ")


def test_prevalence_sums_to_one():
    estimates = prevalence(krippendorffs())
    assert sum(e.value for e in estimates.values()) == pytest.approx(1)
    assert not prevalence(table([[None]], scale=(1, 2)))[1.0].defined


@pytest.mark.parametrize("statistic", [lambda t: alpha(t, level="nominal"), gwet, exact_agreement], ids=["a", "g", "e"])
def test_an_agreement_without_exception_is_no_certainty(statistic):
    few, more = (statistic(table([[1, 2] * k, [1, 2] * k])) for k in (3, 20))
    assert few.value == pytest.approx(1) and few.low < 0.6 and few.high == pytest.approx(1, abs=1e-3)
    assert few.low < more.low < 1


def test_equal_values_of_items_rated_twice_are_not_called_equal_values_of_all() -> None:
    """A table beside it shows the no of the one item that a single person rated."""
    rows = [("i1", "ann", "yes"), ("i1", "bob", "yes"), ("i2", "ann", "no")]
    ratings = rating_table(rows, cases={"i1": "c1", "i2": "c2"}, scale=("no", "yes"))
    result = alpha(ratings, level="nominal")
    assert result.value is None and "all values of the items with two raters or more are equal (yes)" in result.text()
    same = rating_table(rows[:2], cases={"i1": "c1"}, scale=("no", "yes"))
    assert "all values are equal (yes)" in alpha(same, level="nominal").text()


def test_ceiling_effect_is_shown_by_the_set_of_statistics():
    """94 % sevens: alpha near 0 beside 89 % exact agreement."""
    rng = np.random.default_rng(3)
    columns = [np.where(rng.random(400) < 0.94, 7, 6).tolist() for _ in range(2)]
    coefficient = agreement(table(columns, scale=range(1, 8)), level="ordinal", resampling=Resampling(200))
    assert abs(coefficient.alpha.value) < 0.1
    assert coefficient.exact.value == pytest.approx(0.89, abs=0.03)
    assert coefficient.within_one.value == 1
    assert coefficient.ac2.value > 0.98
    assert coefficient.prevalence[7.0].value == pytest.approx(0.94, abs=0.02)
    assert (coefficient.units, coefficient.raters, coefficient.ratings) == (400, 2, 800)


def test_pairs_and_leaving_out():
    columns = [[1, 2, 3, 4, None], [1, 2, 3, 4, None], [4, 3, 2, 1, None], [None] * 4 + [1]]
    cells = table(columns)
    pairs = pairwise(cells, exact_agreement)
    assert len(pairs) == 6
    assert (pairs["r0", "r1"].value, pairs["r0", "r2"].value) == (1, 0)
    assert pairs["r0", "r3"].reason == "r0 and r3 have no item in common"
    estimates = leave_one_out(cells, lambda t: alpha(t, level="ordinal", resampling=NONE))
    assert estimates["r2"].value == 1
    assert estimates["r0"].value < 0 < estimates["r2"].value


def test_severity_finds_a_constant_offset_that_correlation_does_not_see():
    severities = severity(table([[1, 2, 3, 4], [1, 2, 3, 4], [3, 4, 5, 6]]))
    assert severities["r2"].value == pytest.approx(2)
    assert severities["r0"].value == pytest.approx(-1)
    assert severity(table([[3, 4], [1, 4], [None, 1]]))["r0"].value == pytest.approx((2 + 1.5) / 2)
    assert not severity(table([[1, None], [None, 2]]))["r0"].defined
    assert "not numbers" in severity(table(NAMES))["r0"].reason


@pytest.mark.parametrize(
    ("rows", "kwargs", "message"),
    [
        pytest.param([("u", "r", 1), ("u", "r", 2)], {}, "rated 'u' twice", id="twice"),
        pytest.param([("u", "r", 8)], {"scale": range(1, 8)}, "8 is not on the scale", id="off the scale"),
        pytest.param([("u", "r", 1), ("u", "s", "x")], {}, "mix numbers and names", id="mixed"),
        pytest.param([("u", "r", 1)], {"cases": {}}, "'u' has no case", id="no case"),
        pytest.param([("u", "r", float("nan"))], {}, "NaN", id="nan"),
        pytest.param([("u", "r", 1)], {"scale": (2, 1)}, "ascends", id="descending scale"),
    ],
)
def test_faulty_tables_are_refused(rows, kwargs, message):
    with pytest.raises(UserError, match=message):
        rating_table(rows, **kwargs)


UNSAMPLED = Resampling(0)
RNG = np.random.default_rng(11)
LIKERT = (RNG.integers(1, 8, 60).astype(float), RNG.integers(1, 8, 60).astype(float))
LINKED = (LIKERT[0], np.clip(LIKERT[0] + RNG.integers(-2, 3, 60), 1, 7))
CONTINUOUS = (RNG.normal(size=70), RNG.normal(size=70))
OURS = {"spearman": spearman, "kendall": kendall}
THEIRS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("data", [LIKERT, LINKED, CONTINUOUS], ids=["ties", "linked", "continuous"])
def test_values_are_those_of_scipy(kind, data):
    assert OURS[kind](*data, resampling=UNSAMPLED).value == pytest.approx(THEIRS[kind](*data).statistic)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_a_resample_with_a_constant_side_is_undefined(kind):
    x, y = np.array([1.0, 1.0, 2.0]), np.array([3.0, 2.0, 2.0])
    assert np.isnan(weighted_correlations(kind, x, y, np.array([[2.0, 1.0, 0.0]])))[0]


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_permutation_p_is_near_the_exact_one(kind):
    x, y = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]
    every = [abs(THEIRS[kind](x, p).statistic) for p in itertools.permutations(y)]
    exact = np.mean(np.array(every) >= abs(THEIRS[kind](x, y).statistic) - 1e-9)
    assert OURS[kind](x, y, resampling=Resampling(3000)).p == pytest.approx(exact, abs=0.012)


def test_the_test_exchanges_whole_cases():
    """Six rows of two cases are two cases: p cannot be small, however many rows there are."""
    x, y = [1, 1, 1, 2, 2, 2], [3, 3, 3, 4, 4, 4]
    assert spearman(x, y, ["a"] * 3 + ["b"] * 3, resampling=Resampling(500)).p == pytest.approx(1.0)
    assert spearman(x, y, resampling=Resampling(500)).p < 0.25


def test_cases_of_different_sizes_have_no_p():
    estimate = spearman([1, 2, 3], [1, 3, 2], ["a", "b", "b"])
    assert estimate.p is None
    assert "no two cases" in estimate.note


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "fewer than two"),
        ([1], [1], "fewer than two"),
        ([7, 7, 7], [1, 2, 3], "x are equal (7)"),
        ([1, 2, 3], [0, 0, 0], "y are equal (0)"),
    ],
)
def test_an_undefined_correlation_says_why(x, y, reason):
    for estimate in (spearman(x, y), kendall(x, y)):
        assert estimate.value is None
        assert reason in estimate.reason


@pytest.mark.parametrize(
    ("x", "y", "cases"), [([1], [1, 2], None), ([1, float("nan")], [1, 2], None), ([1, 2], [1, 2], ["a"])]
)
def test_faulty_input_is_refused(x, y, cases):
    with pytest.raises(ValueError):
        spearman(x, y, cases)


def test_the_null_of_a_zero_coefficient_goes_with_the_interval():
    """Two places in every case differ alike in x and y: rho is high, and exchanging cases keeps all of it."""
    rng = np.random.default_rng(2)
    cases = [str(k) for k in range(30) for _ in range(2)]
    x = np.tile([0.0, 5.0], 30) + rng.normal(size=60)
    y = np.tile([0.0, 5.0], 30) + rng.normal(size=60)
    other = spearman(x, y, cases, resampling=Resampling(200))
    estimate = spearman(x, y, cases, resampling=Resampling(200), null="zero")
    assert estimate.low > 0.5 and estimate.p < 1e-4 and other.p > 0.05
    assert (estimate.value, estimate.low, estimate.high) == (other.value, other.low, other.high)
    assert spearman(x, y, cases, resampling=Resampling(0), null="zero").p is None
    rates = [spearman(*rng.normal(size=(2, 20)), resampling=Resampling(100), null="zero").p < 0.05 for _ in range(150)]
    assert np.mean(rates) < 0.12


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_too_few_cases_off_the_commonest_value_have_no_interval(kind):
    """Two cases that differ, though by eight scripts; a third one makes the interval."""
    cases = [f"c{k // 4}" for k in range(80)]
    y = [7.0] * 80
    y[0:4], y[20:24] = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 5.0, 6.0]
    x = [float(k % 7) for k in range(80)]
    for pair, side in (((x, y), "y"), ((y, x), "x")):
        result = OURS[kind](*pair, cases, resampling=Resampling(200))
        assert (result.low, result.high) == (None, None)
        assert result.value is not None and result.p is not None
        assert result.note == f"in all but 2 cases the values of {side} are 7"
    assert spearman(x, y, cases, resampling=Resampling(200), null="zero").p is None, "of zero, none without an interval"
    y[40] = 6.0
    result = OURS[kind](x, y, cases, resampling=Resampling(200))
    assert result.low is not None
    assert OURS[kind](x[:4], [1.0, 1.0, 1.0, 2.0], resampling=UNSAMPLED).note == "no resampling was asked for"


GAP = math.nan


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1, 1, 3], [2, 2, 2], [3, 3, 1]], -1 / 3),  # 1, -1, -1
        ([[1, 1, 5], [2, 2, 5], [3, 3, 5]], 1.0),  # whoever never varies counts in no pair
        ([[1, 2], [2, 3]], GAP),  # two units are too few
        ([[1, 2], [2, GAP], [3, 4], [4, GAP]], GAP),  # two in common
        ([[1], [2], [3]], GAP),
    ],
)
def test_pairs_that_have_a_correlation(values: list[list[float]], expected: float) -> None:
    assert mean_correlation(np.array(values, dtype=float)) == pytest.approx(expected, nan_ok=True)


def test_more_people_raise_the_ceiling() -> None:
    ratings = table([[1, 2, 3, 4, 5], [1, 3, 2, 5, 4]])  # they correlate with 0.8
    values = [ceiling(ratings, k=k, resampling=NONE).value for k in (1, 2, 3)]
    assert values == pytest.approx([math.sqrt(0.8), math.sqrt(1.6 / 1.8), math.sqrt(2.4 / 2.6)])
    assert ceiling(ratings, resampling=NONE).value == pytest.approx(values[1]), "all of the table where k is left out"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (NAMES, "names, not numbers"),
        ([[1, 2, 3]], "there is one rater"),
        ([[1, 2, None], [1, 2, 3]], "no two raters share three units on which both vary"),
        ([[4, 4, 4], [1, 2, 3]], "no two raters share three units on which both vary"),
        ([[1, 2, 3], [3, 2, 1]], "is -1.000, not above 0"),
    ],
)
def test_an_undefined_ceiling_says_why(columns: list[list[object]], reason: str) -> None:
    estimate = ceiling(table(columns), resampling=NONE)
    assert estimate.value is None and reason in estimate.reason


def test_raters_who_agree_up_to_rounding_leave_no_interval_without_width() -> None:
    """Resamples at 1 and at 1 - 2e-16 made "1.00 [1.00, 1.00]"."""
    rng = np.random.default_rng(2)
    ratings = [float(v) for v in rng.integers(1, 8, 16)]
    estimate = ceiling(table([ratings, ratings]), resampling=Resampling(300))
    assert estimate.value == pytest.approx(1.0) and (estimate.low, estimate.high) == (None, None)
    assert estimate.note


def test_the_interval_stays_on_the_scale_and_holds_the_value() -> None:
    rng = np.random.default_rng(6)
    quality = rng.normal(size=12)
    ratings = table([np.clip(np.round(4 + quality + rng.normal(size=12)), 1, 7).tolist() for _ in range(3)])
    estimate = ceiling(ratings, resampling=Resampling(300))
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1 and "mean correlation" in estimate.note


def test_where_most_ratings_are_equal_the_note_says_so() -> None:
    column = [7.0] * 14 + [1, 2, 3, 4, 5, 6]
    other = [7.0] * 14 + [2, 1, 4, 3, 6, 5]
    assert ceiling(table([column, other]), resampling=Resampling(300)).note == FEW_DIFFER
