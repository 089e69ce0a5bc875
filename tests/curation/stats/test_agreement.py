import csv
import itertools

import krippendorff
import numpy as np
import pytest

from curation.stats import agreement as module
from curation.stats.agreement import alpha, exact_agreement, gwet, prevalence, within_one
from curation.stats.bootstrap import Resampling, drawn
from curation.stats.rating_table import rating_table
from tests.support.curation.rating_tables import NAMES, NONE, SMALL, table

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


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_own_example(level, value):
    assert alpha(krippendorffs(), level=level, resampling=NONE).value == pytest.approx(value, abs=5e-4)


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
    found = alpha(study, level=level)
    assert found.value == pytest.approx(value, abs=5e-5)
    assert (found.n, found.cases) == (150, 50)
    assert found.low < found.value < found.high
    assert 0.15 < found.high - found.low < 0.35  # 50 cases do not pin alpha down


@pytest.mark.parametrize(
    ("columns", "scale", "statistic", "value"),
    [
        # n = 8 of which 3 ones, 5 twos; off-diagonal coincidences 2; expected 2·3·5/7: 1 - 2·7/30
        pytest.param(SMALL, None, lambda t: alpha(t, level="nominal", resampling=NONE), 8 / 15, id="alpha nominal"),
        # agreement 3/4, shares 3/8 and 5/8, chance 30/64
        pytest.param(SMALL, None, gwet, (48 - 30) / (64 - 30), id="AC1"),
        # with a third category that nobody used chance is halved: 30/128
        pytest.param(SMALL, (1, 2, 3), gwet, (96 - 30) / (128 - 30), id="AC1 depends on the scale"),
        # units (1,2) (3,3): agreement (1/2 + 1)/2; shares 1/4 1/4 1/2: 5/8; sum of weights 5 of 6: chance 25/48
        pytest.param([[1, 3], [2, 3]], (1, 2, 3), lambda t: gwet(t, weights="linear"), 11 / 23, id="AC2 linear"),
        # quadratic: agreement 7/8, sum of weights 6 of 6: chance 5/8
        pytest.param([[1, 3], [2, 3]], (1, 2, 3), lambda t: gwet(t, weights="quadratic"), 2 / 3, id="AC2 quadratic"),
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
    found = from_square([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert gwet(found).value == pytest.approx(0.8493305, abs=5e-8)
    assert alpha(found, level="nominal", resampling=NONE).value == pytest.approx(0.7972585, abs=5e-8)
    assert exact_agreement(found).value == pytest.approx(0.89)
    assert gwet(found).low == pytest.approx(0.764, abs=0.015)  # printed: 0.764 to 0.935, from a normal approximation
    assert gwet(found).high == pytest.approx(0.935, abs=0.015)


def naive_gwet(columns, scale, weight):
    """AC2 by loops over units and pairs of raters, with gaps."""
    units = [[c[i] for c in columns if c[i] is not None] for i in range(len(columns[0]))]
    rated = [u for u in units if u]
    agreed = [np.mean([weight(a, b) for a, b in itertools.permutations(u, 2)]) for u in rated if len(u) > 1]
    shares = [np.mean([u.count(c) / len(u) for u in rated]) for c in scale]
    total = sum(weight(a, b) for a in scale for b in scale)
    chance = total / (len(scale) * (len(scale) - 1)) * sum(s * (1 - s) for s in shares)
    return (np.mean(agreed) - chance) / (1 - chance)


@pytest.mark.parametrize(
    ("weights", "weight"),
    [
        ("identity", lambda a, b: float(a == b)),
        ("linear", lambda a, b: 1 - abs(a - b) / 4),
        ("quadratic", lambda a, b: 1 - (a - b) ** 2 / 16),
    ],
)
def test_gwet_equals_a_naive_loop_with_gaps(weights, weight):
    columns = [[v or None for v in row] for row in KRIPPENDORFF]
    found = gwet(krippendorffs(), weights=weights, resampling=NONE)
    assert found.value == pytest.approx(naive_gwet(columns, [1, 2, 3, 4, 5], weight))


def test_bootstrap_equals_recomputing_each_resample(monkeypatch):
    cases = {f"u{n}": f"c{n // 2}" for n in range(12)}
    rows = [(f"u{i}", f"r{j}", v) for j, row in enumerate(KRIPPENDORFF) for i, v in enumerate(row) if v]
    found = rating_table(rows, cases=cases)
    plan = Resampling(40, seed=4)
    columns = np.array([[v or np.nan for v in row] for row in KRIPPENDORFF])[:, :11]  # the last unit has one rating
    draws = []
    for times in next(drawn(6, plan)).astype(int):
        units = [n for case in range(6) for _ in range(times[case]) for n in range(11) if n // 2 == case]
        draws.append(
            krippendorff.alpha(columns[:, units], value_domain=[1, 2, 3, 4, 5], level_of_measurement="ordinal")
        )
    want = np.sort(draws)
    for most_cells in (module._MOST_CELLS, 0):  # all together, and one by one where there are too many
        monkeypatch.setattr(module, "_MOST_CELLS", most_cells)
        got = alpha(found, level="ordinal", resampling=plan)
        assert (got.low, got.high) == pytest.approx((quantile(want, 0.025), quantile(want, 0.975)))
        assert got.cases == 6


def quantile(ordered, share):
    """Between the two values beside the place (n - 1) * share, in proportion."""
    place = (len(ordered) - 1) * share
    below = int(place)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def test_many_units_of_one_case_have_no_interval():
    found = table(SMALL, cases={f"u{n}": "the case" for n in range(4)})
    for result in (alpha(found, level="nominal"), gwet(found), exact_agreement(found)):
        assert (result.n, result.cases, result.low) == (4, 1, None)
        assert result.note == "a single case has no spread"


def test_exact_agreement_interval_resamples_cases():
    columns = [[1, 1, 2, 2, 3, 3], [1, 1, 2, 1, 1, 1]]
    found = table(columns, cases={f"u{n}": f"c{n // 2}" for n in range(6)})
    plan = Resampling(100, seed=1)
    agree = [sum(a == b for a, b in zip(*(c[i : i + 2] for c in columns), strict=True)) for i in (0, 2, 4)]
    loop = [sum(a * k for a, k in zip(agree, times, strict=True)) / 6 for chunk in drawn(3, plan) for times in chunk]
    result = exact_agreement(found, resampling=plan)
    assert (result.low, result.high) == pytest.approx(tuple(np.percentile(loop, [2.5, 97.5])))


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
        pytest.param([[-1, 2], [1, 2]], None, lambda t: alpha(t, level="ratio"), "negative", id="negative ratio"),
        pytest.param([[7, 7], [7, 7]], None, gwet, "no other category", id="AC1 of one category"),
        pytest.param([[1, 2]], None, gwet, "one rater", id="AC1 of one rater"),
        pytest.param([[1, 2]] * 2, None, lambda t: gwet(t, weights=np.ones((2, 2))), "certain", id="weights all 1"),
        pytest.param(NAMES, None, lambda t: gwet(t, weights="linear"), "declared order", id="AC2 of names"),
        pytest.param([[1], [None]], None, exact_agreement, "one rater", id="exact of one rater"),
        pytest.param(NAMES, None, within_one, "declared order", id="within one of names"),
    ],
)
def test_undefined_says_why(columns, scale, statistic, reason):
    found = statistic(table(columns, scale=scale))
    assert found.value is found.low is found.high is None
    assert reason in found.reason
    assert found.text().startswith("undefined, because ")


def test_all_equal_on_a_scale_is_perfect_agreement_for_gwet():
    assert gwet(table([[7, 7], [7, 7]], scale=range(1, 8))).value == 1


def test_prevalence_sums_to_one():
    found = prevalence(krippendorffs(), resampling=NONE)
    assert sum(e.value for e in found.values()) == pytest.approx(1)
    assert not prevalence(table([[None]], scale=(1, 2)))[1.0].defined


@pytest.mark.parametrize("statistic", [lambda t: alpha(t, level="nominal"), gwet, exact_agreement], ids=["a", "g", "e"])
def test_an_agreement_without_exception_has_no_interval_of_no_width(statistic):
    found = statistic(table([[1, 2] * 6, [1, 2] * 6]))
    assert found.value == pytest.approx(1) and (found.low, found.high) == (None, None)
    assert "every resample gives the same value" in found.note
