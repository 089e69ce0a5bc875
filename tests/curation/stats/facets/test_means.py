"""Means corrected for severity: right where the raw ones are wrong, honest where there is little, and covering."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.rating.more_ratings import coverage
from benchmarks.rating.panels import Panel, Scripts
from curation.stats.facets.fit import FacetRating
from curation.stats.facets.means import facet_report
from schemas.core.errors import UserError

WORLD = Panel(np.array([[-0.5, 0.5]]), np.array([[-1.5], [0.0], [1.5]]))


def unfair(rng: np.random.Generator, cases: int) -> list[FacetRating]:
    """The mild person rates mostly what the first method wrote, the severe one mostly the second's."""
    scripts = Scripts(WORLD, rng, cases=cases)
    requests = []
    for n, (item, _, method) in enumerate(scripts.items):
        often = "p0" if method == "m0" else "p2"
        requests += [("p1", item), (often if n % 5 else {"p0": "p2", "p2": "p0"}[often], item)]
    return scripts.rated(requests)


def test_severity_that_raw_means_mistake_for_a_method_is_taken_out() -> None:
    rows = unfair(np.random.default_rng(3), 120)
    facets, truth = facet_report(rows), WORLD.true_means[0]
    (differences,) = facets.differences
    raw = facets.raw["a0", "m0"] - facets.raw["a0", "m1"]
    assert differences.difference.low is not None and differences.difference.high is not None
    assert differences.difference.low <= truth[0] - truth[1] <= differences.difference.high
    assert raw > truth[0] - truth[1] + 0.4, "the raw difference is far off"
    assert facets.severity["p0"].value is not None and facets.severity["p2"].value is not None
    assert facets.severity["p0"].value < -0.8 and facets.severity["p2"].value > 0.8


def test_where_everybody_rated_everything_the_means_are_the_raw_ones() -> None:
    scripts = Scripts(WORLD, np.random.default_rng(5), cases=60)
    facets = facet_report(scripts.rated([(p, i) for p in ("p0", "p1", "p2") for i, *_ in scripts.items]))
    for key, e in facets.means.items():
        assert e.value == pytest.approx(facets.raw[key], abs=0.08)
    (differences,) = facets.differences
    means = [e.value for e in facets.means.values()]
    assert means[0] is not None and means[1] is not None
    assert differences.difference.value == pytest.approx(means[0] - means[1])


def test_names_and_order_of_what_comes_in_change_nothing() -> None:
    rows = unfair(np.random.default_rng(3), 20)
    other = {"p0": "zoe", "p1": "ann", "p2": "bob", "m0": "z", "m1": "a"}
    reversed_data = facet_report([r._replace(person=other[r.person], method=other[r.method]) for r in reversed(rows)])
    plain = facet_report(rows)
    for method in ("m0", "m1"):
        assert reversed_data.means["a0", other[method]].value == pytest.approx(
            plain.means["a0", method].value, abs=2e-3
        )
        assert reversed_data.means["a0", other[method]].low == pytest.approx(plain.means["a0", method].low, abs=4e-3)


def test_more_ratings_make_intervals_narrower_and_the_stop_rule_knows() -> None:
    few, many = (facet_report(unfair(np.random.default_rng(3), n)) for n in (20, 80))
    assert many.widest < few.widest * 0.75
    assert many.reached(many.widest + 0.01) and not many.reached(many.widest)


def test_one_method_has_no_difference_and_never_stops() -> None:
    facets = facet_report([r for r in unfair(np.random.default_rng(3), 20) if r.method == "m1"])
    assert facets.differences == () and facets.widest == 0.0 and not facets.reached(9.0)


def test_one_person_is_refused_in_words() -> None:
    with pytest.raises(UserError, match="p1 alone rated"):
        facet_report([r for r in unfair(np.random.default_rng(3), 9) if r.person == "p1"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("aspects", "overlap", "studies"), [(1, 2, 150), (3, 2, 60)])
def test_intervals_cover(aspects: int, overlap: int, studies: int) -> None:
    """Of 95 % intervals, 93 to 97 % hold the truth; three standard errors of the simulation are allowed for."""
    interval = coverage(cases=40, persons=4, methods=3, aspects=aspects, overlap=overlap, studies=studies, seed=1)
    error = 3 * (0.05 * 0.95 / studies) ** 0.5
    print(f"{aspects} aspects, {studies} studies: {interval}")
    assert 0.93 - error <= interval.differences <= 0.97 + error and 0.93 - error <= interval.means <= 0.97 + error
    assert abs(interval.bias) < 0.06
