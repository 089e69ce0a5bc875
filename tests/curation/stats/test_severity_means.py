"""Means corrected for severity against their definition, what is refused, and what the intervals cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from benchmarks.rating.more_ratings import coverage
from benchmarks.rating.panels import Panel, Scripts
from curation.stats.estimates import Floats
from curation.stats.severity_means import ScaleRating, severity_report
from schemas.core.errors import UserError

PANEL_WORLD = Panel(np.array([[-0.5, 0.5]]), np.array([[-1.5], [0.0], [1.5]]))


def test_severities_and_means_are_those_of_least_squares_with_a_column_for_every_method_case_and_person() -> None:
    """The definition, solved densely: severities sum to 0, and intervals are the jackknife's by its formula."""
    scripts = Scripts(PANEL_WORLD, np.random.default_rng(4), cases=12)
    rows = scripts.rated(scripts.shared(np.random.default_rng(5), overlap=2))[:40]
    report = severity_report(rows)

    def dense(some: list[ScaleRating]) -> tuple[Floats, Floats]:
        cases, people = sorted({r.case for r in some}), ["p0", "p1", "p2"]
        left = np.zeros((len(some) + 2, len(cases) + 5))
        for n, r in enumerate(some):
            left[n, cases.index(r.case)] = 1
            left[n, len(cases) + int(r.method[1:])] = 1
            left[n, len(cases) + 2 + people.index(r.person)] = -1
        left[-2, len(cases) : len(cases) + 2] = left[-1, len(cases) + 2 :] = 1  # each sums to 0
        found = np.linalg.lstsq(left, np.array([*(r.value for r in some), 0.0, 0.0]), rcond=None)[0]
        return found[: len(cases)].mean() + found[len(cases) : len(cases) + 2], found[len(cases) + 2 :]

    means, severity = dense(rows)
    assert [e.value for e in report.means.values()] == pytest.approx(list(means))
    assert [e.value for e in report.severity.values()] == pytest.approx(list(severity)) and abs(sum(severity)) < 1e-9
    cases = {r.case for r in rows}
    left = np.array([np.subtract(*dense([r for r in rows if r.case != case])[0]) for case in cases])
    error = (len(left) - 1) ** 0.5 * left.std()
    (difference,) = report.differences
    assert difference.width == pytest.approx(2 * student.ppf(0.975, len(left) - 1) * error)


def test_intervals_on_a_scale_allow_for_a_rare_low_rating() -> None:
    """Near the ceiling Student's interval held the truth in 68 to 87 % of studies."""
    rows = [r._replace(value=7) if r.method == "x" and r.case != "c1" else r for r in CROSSED]
    free, bound = severity_report(rows), severity_report(rows, {"a": (1.0, 7.0)})
    left, right = free.means["a", "x"], bound.means["a", "x"]
    assert left.high is not None and left.high > 7 and right.value == left.value
    assert right.high is not None and right.high < 7
    assert left.low is not None and right.low is not None and right.low < left.low
    agreed = [r._replace(value=7 if r.method == "x" else 3 + (r.case == "c1")) for r in CROSSED]
    found = severity_report(agreed, {"a": (1.0, 7.0)}).means["a", "x"]
    assert found.value == pytest.approx(7) and found.low is not None and found.low < 6


def rating(item: str, person: str, value: int, *, aspect: str = "a", method: str | None = None) -> ScaleRating:
    return ScaleRating(item, f"c{item[0]}", method or item[1], person, aspect, value)


CROSSED = [rating(f"{c}{m}", p, n % 5 + 1) for n, (c, m, p) in enumerate(
    (c, m, p) for c in "12345" for m in "xy" for p in ("ann", "bob"))]  # fmt: skip


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([], "nobody has rated yet"),
        ([r for r in CROSSED if r.person == "ann"], "ann alone rated"),
        ([r for r in CROSSED if (r.person == "ann") == (r.method == "x")], "share no items with one another: ann; bob"),
        (
            [r for r in CROSSED if (r.method == "x") == (r.case in ("c1", "c2"))],
            "methods cannot be compared on 'a': these share no case: x; y",
        ),
        (
            [r for r in CROSSED if r.case == "c3" or (r.method == "x") == (r.case in ("c1", "c2"))],
            "these share no case but 'c3': x; y",
        ),
        ([r._replace(value=7) for r in CROSSED], "'a' has no variance: all 20 ratings are 7"),
        (
            [*CROSSED, *(r._replace(aspect="b") for r in CROSSED if r.method == "x")],
            "'b' has ratings of y in fewer than two cases",
        ),
        ([r for r in CROSSED if r.case in ("c1", "c2")], "n = 2: too few"),
    ],
)
def test_what_cannot_be_estimated_is_refused(ratings: list[ScaleRating], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        severity_report(ratings)
    assert error.value.fix and "\n" not in str(error.value)


def test_a_chain_of_shared_items_links_everybody() -> None:
    chain = [r for r in CROSSED if r.person == "ann" or r.item == "1x"]
    chain += [rating("1x", "cat", 3), rating("9x", "cat", 2)]
    assert list(severity_report(chain).severity) == ["ann", "bob", "cat"]


def unfair(rng: np.random.Generator, cases: int) -> list[ScaleRating]:
    """The mild person rates mostly what the first method wrote, the severe one mostly the second's."""
    scripts = Scripts(PANEL_WORLD, rng, cases=cases)
    requests = []
    for n, (item, _, method) in enumerate(scripts.items):
        often = "p0" if method == "m0" else "p2"
        requests += [("p1", item), (often if n % 5 else {"p0": "p2", "p2": "p0"}[often], item)]
    return scripts.rated(requests)


def test_severity_that_raw_means_mistake_for_a_method_is_taken_out() -> None:
    rows = unfair(np.random.default_rng(3), 120)
    report, truth = severity_report(rows), PANEL_WORLD.true_means[0]
    (differences,) = report.differences
    raw = report.raw["a0", "m0"] - report.raw["a0", "m1"]
    assert differences.difference.low is not None and differences.difference.high is not None
    assert differences.difference.low <= truth[0] - truth[1] <= differences.difference.high
    assert raw > truth[0] - truth[1] + 0.4, "the raw difference is far off"
    assert report.severity["p0"].value is not None and report.severity["p2"].value is not None
    assert report.severity["p0"].value < -0.8 and report.severity["p2"].value > 0.8


def test_more_ratings_make_intervals_narrower_and_the_stop_rule_knows() -> None:
    few, many = (severity_report(unfair(np.random.default_rng(3), n)) for n in (20, 80))
    assert many.widest < few.widest * 0.75
    assert many.reached(many.widest + 0.01) and not many.reached(many.widest)


def test_one_method_has_no_difference_and_never_stops() -> None:
    report = severity_report([r for r in unfair(np.random.default_rng(3), 20) if r.method == "m1"])
    assert report.differences == () and report.widest == 0.0 and not report.reached(9.0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("aspects", "overlap", "studies"), [(1, 2, 80), (3, 2, 30)])
def test_intervals_cover(aspects: int, overlap: int, studies: int) -> None:
    """Of 95 % intervals, 93 to 97 % hold the truth; three standard errors of the simulation are allowed for."""
    interval = coverage(cases=40, persons=4, methods=3, aspects=aspects, overlap=overlap, studies=studies, seed=1)
    error = 3 * (0.05 * 0.95 / studies) ** 0.5
    print(f"{aspects} aspects, {studies} studies: {interval}")
    assert 0.93 - error <= interval.differences <= 0.97 + error and 0.93 - error <= interval.means <= 0.97 + error
    assert abs(interval.bias) < 0.06
