"""The fit against its own definition, against statsmodels' figures, and against brute-force integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from benchmarks.rating.more_ratings import coverage
from benchmarks.rating.panels import Panel, Scripts
from curation.stats.estimates import Floats
from curation.stats.facet_means import facet_report
from curation.stats.facets import (
    FacetDesign,
    FacetRating,
    facet_design,
    fit_facets,
)
from schemas.core.errors import UserError

WORLD = Panel(np.array([[-0.8, 0.0, 0.9]]), np.array([[-0.6], [0.0], [0.7]]))


@pytest.fixture(scope="module")
def made_ratings() -> list[FacetRating]:
    scripts = Scripts(WORLD, np.random.default_rng(4), cases=40)
    return sorted(scripts.rated(scripts.shared(np.random.default_rng(5), overlap=2)))


def total(design: FacetDesign, x: Floats, variance: dict[str, float]) -> float:
    """The penalised log-likelihood, rating by rating, as the docstring defines it."""
    cuts = int(design.cuts[-1])
    outer, unit = x[: cuts + design.effects.shape[1]], x[cuts + design.effects.shape[1] :]
    effects = design.effects.toarray() @ outer[cuts:] + unit[design.units.of]
    out = 0.0
    for upper, lower, effect in zip(design.upper, design.lower, effects, strict=True):
        top = expit(outer[upper] - effect) if upper >= 0 else 1.0
        low = expit(outer[lower] - effect) if lower >= 0 else 0.0
        out += float(np.log(top - low))
    for block in design.blocks:
        block_rows = outer[cuts + block.start : cuts + block.stop]
        out -= 0.5 * float(block_rows @ block_rows) / variance[block.name]
    return out - 0.5 * float(design.fixed @ outer[cuts:] ** 2) - 0.5 * float(unit @ unit) / variance["unit"]


@pytest.mark.parametrize(("aspects", "cases"), [(1, 5), (2, 6)])
def test_the_fit_is_the_maximum_and_its_covariance_the_inverse_curvature(aspects: int, cases: int) -> None:
    """At the variances that it estimates, none of which is near 0 in these data."""
    world = Panel(np.tile([-0.5, 0.6], (aspects, 1)), np.tile([[-0.4], [0.4]], (1, aspects)), (0.8, 0.7, 0.5))
    scripts = Scripts(world, np.random.default_rng(3), cases=cases)
    design = facet_design(sorted(scripts.rated(scripts.shared(np.random.default_rng(2), overlap=2))))
    fit = fit_facets(design)
    x = np.concatenate([fit.outer, fit.unit])

    def value(at: Floats) -> float:
        return total(design, at, fit.variance)

    assert np.abs(optimize.approx_fprime(x, value, 1e-6)).max() < 1e-3, "no direction rises"
    step, size = 1e-3, len(x)
    curvature = np.empty((size, size))
    eye = np.eye(size) * step
    for i in range(size):
        for j in range(i, size):
            four = [value(x + a * eye[i] + b * eye[j]) * a * b for a in (1, -1) for b in (1, -1)]
            curvature[i, j] = curvature[j, i] = -sum(four) / (4 * step**2)
    dense = np.linalg.inv(curvature)[: len(fit.outer), : len(fit.outer)]
    assert np.allclose(fit.covariance, dense, rtol=2e-3, atol=2e-4)


def test_a_variance_that_is_none_goes_to_the_floor_and_comes_to_rest() -> None:
    world = Panel(WORLD.effects, WORLD.severity, (0.0, 0.0, 0.0))
    scripts = Scripts(world, np.random.default_rng(1), cases=60)
    fit = fit_facets(facet_design(sorted(scripts.rated(scripts.shared(np.random.default_rng(2), overlap=3)))))
    assert fit.converged and max(fit.variance.values()) < 0.3


def test_a_method_that_always_gets_the_highest_point_stays_finite(made_ratings: list[FacetRating]) -> None:
    fit = fit_facets(facet_design([r._replace(value=7) if r.method == "m2" else r for r in made_ratings]))
    assert np.isfinite(fit.outer).all() and np.isfinite(fit.covariance).all()


def rating(item: str, person: str, value: int, *, aspect: str = "a", method: str | None = None) -> FacetRating:
    return FacetRating(item, f"c{item[0]}", method or item[1], person, aspect, value)


CROSSED = [rating(f"{c}{m}", p, n % 5 + 1) for n, (c, m, p) in enumerate(
    (c, m, p) for c in "1234" for m in "xy" for p in ("ann", "bob"))]  # fmt: skip


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([], "nobody has rated yet"),
        ([r for r in CROSSED if r.person == "ann"], "ann alone rated"),
        ([r for r in CROSSED if (r.person == "ann") == (r.method == "x")], "share no items with one another: ann; bob"),
        ([r._replace(value=7) for r in CROSSED], "'a' has no variance: all 16 ratings are 7"),
        ([*CROSSED, *(r._replace(aspect="b") for r in CROSSED if r.method == "x")], "'b' has no rating of y"),
        ([r for r in CROSSED if r.case in ("c1", "c2")], "three cases or more"),
    ],
)
def test_what_cannot_be_estimated_is_refused(ratings: list[FacetRating], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        facet_design(ratings)
    assert error.value.fix and "\n" not in str(error.value)


def test_a_chain_of_shared_items_links_everybody() -> None:
    chain = [r for r in CROSSED if r.person == "ann" or r.item == "1x"]
    chain += [rating("1x", "cat", 3), rating("9x", "cat", 2)]
    assert facet_design(chain).persons == ("ann", "bob", "cat")


def test_scale_points_that_nobody_used_have_no_threshold() -> None:
    design = facet_design([r._replace(value={1: 1, 2: 4}.get(r.value, 7)) for r in CROSSED])
    assert [v.tolist() for v in design.values] == [[1.0, 4.0, 7.0]]
    assert design.cuts.tolist() == [0, 2]
    assert {(int(u), int(low)) for u, low in zip(design.upper, design.lower, strict=True)} == {(0, -1), (1, 0), (-1, 1)}


PANEL_WORLD = Panel(np.array([[-0.5, 0.5]]), np.array([[-1.5], [0.0], [1.5]]))


def unfair(rng: np.random.Generator, cases: int) -> list[FacetRating]:
    """The mild person rates mostly what the first method wrote, the severe one mostly the second's."""
    scripts = Scripts(PANEL_WORLD, rng, cases=cases)
    requests = []
    for n, (item, _, method) in enumerate(scripts.items):
        often = "p0" if method == "m0" else "p2"
        requests += [("p1", item), (often if n % 5 else {"p0": "p2", "p2": "p0"}[often], item)]
    return scripts.rated(requests)


def test_severity_that_raw_means_mistake_for_a_method_is_taken_out() -> None:
    rows = unfair(np.random.default_rng(3), 120)
    facets, truth = facet_report(rows), PANEL_WORLD.true_means[0]
    (differences,) = facets.differences
    raw = facets.raw["a0", "m0"] - facets.raw["a0", "m1"]
    assert differences.difference.low is not None and differences.difference.high is not None
    assert differences.difference.low <= truth[0] - truth[1] <= differences.difference.high
    assert raw > truth[0] - truth[1] + 0.4, "the raw difference is far off"
    assert facets.severity["p0"].value is not None and facets.severity["p2"].value is not None
    assert facets.severity["p0"].value < -0.8 and facets.severity["p2"].value > 0.8


def test_where_everybody_rated_everything_the_means_are_the_raw_ones() -> None:
    scripts = Scripts(PANEL_WORLD, np.random.default_rng(5), cases=60)
    facets = facet_report(scripts.rated([(p, i) for p in ("p0", "p1", "p2") for i, *_ in scripts.items]))
    for key, e in facets.means.items():
        assert e.value == pytest.approx(facets.raw[key], abs=0.08)
    (differences,) = facets.differences
    means = [e.value for e in facets.means.values()]
    assert means[0] is not None and means[1] is not None
    assert differences.difference.value == pytest.approx(means[0] - means[1])


def test_more_ratings_make_intervals_narrower_and_the_stop_rule_knows() -> None:
    few, many = (facet_report(unfair(np.random.default_rng(3), n)) for n in (20, 80))
    assert many.widest < few.widest * 0.75
    assert many.reached(many.widest + 0.01) and not many.reached(many.widest)


def test_one_method_has_no_difference_and_never_stops() -> None:
    facets = facet_report([r for r in unfair(np.random.default_rng(3), 20) if r.method == "m1"])
    assert facets.differences == () and facets.widest == 0.0 and not facets.reached(9.0)


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
