"""The fit against its own definition, against statsmodels' figures, and against brute-force integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from benchmarks.rating.more_ratings import coverage
from benchmarks.rating.panels import Panel, Scripts
from curation.stats.estimates import Floats
from curation.stats.facet_means import PossibleRating, _Board, _wanted, facet_report, information, plan_ratings
from curation.stats.facets import (
    FacetDesign,
    FacetFit,
    FacetItem,
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


def test_waiting_items_get_columns_and_no_rating() -> None:
    plain, more = facet_design(CROSSED), facet_design(CROSSED, [FacetItem("9x", "c9", "x"), FacetItem("9z", "c9", "z")])
    assert "9x" in more.items and "9z" not in more.items, "a method that nobody rated has no effect to be known"
    assert (len(more.units.names), len(more.cases.names)) == (len(plain.units.names) + 1, len(plain.cases.names) + 1)
    assert more.rated_cases == plain.rated_cases and more.effects.shape[0] == plain.effects.shape[0]


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
@pytest.mark.parametrize(("aspects", "overlap", "studies"), [(1, 2, 150), (3, 2, 60)])
def test_intervals_cover(aspects: int, overlap: int, studies: int) -> None:
    """Of 95 % intervals, 93 to 97 % hold the truth; three standard errors of the simulation are allowed for."""
    interval = coverage(cases=40, persons=4, methods=3, aspects=aspects, overlap=overlap, studies=studies, seed=1)
    error = 3 * (0.05 * 0.95 / studies) ** 0.5
    print(f"{aspects} aspects, {studies} studies: {interval}")
    assert 0.93 - error <= interval.differences <= 0.97 + error and 0.93 - error <= interval.means <= 0.97 + error
    assert abs(interval.bias) < 0.06


@pytest.fixture(scope="module", params=[1, 2])
def fit(request: pytest.FixtureRequest) -> FacetFit:
    """Half of the cases rated by two of three people, half waiting."""
    aspects = request.param
    world = Panel(np.tile([-0.5, 0.6], (aspects, 1)), np.tile([[-0.4], [0.0], [0.4]], (1, aspects)), (0.8, 0.7, 0.5))
    scripts = Scripts(world, np.random.default_rng(6), cases=12)
    pairs = [(p, i) for p, i in scripts.shared(np.random.default_rng(2), overlap=2) if i < "c006"]
    return fit_facets(
        facet_design(sorted(scripts.rated(pairs)), [FacetItem(*i) for i in scripts.items if i[0] >= "c006"])
    )


def possible(fit: FacetFit) -> list[PossibleRating]:
    return [PossibleRating(p, i) for p in fit.design.persons for i in fit.design.items]


def whole(fit: FacetFit, made: list[PossibleRating]) -> Floats:
    """Variances of the differences with these ratings added, by the whole matrix of all effects and units."""
    d, outer, units = fit.design, len(fit.outer), list(fit.design.units.names)
    reduced = np.linalg.inv(fit.covariance)
    cross = fit.cross.toarray()
    block = reduced + cross.T @ np.diag(1 / fit.curvature) @ cross
    every = np.block([[block, cross.T], [cross, np.diag(fit.curvature)]])
    for p in made:
        for a, aspect in enumerate(d.aspects):
            x = np.zeros(len(every))
            item, index = d.items[p.item], d.persons.index(p.person)
            if d.method_column[a, d.methods.index(item.method)] >= 0:
                x[fit.cuts + d.method_column[a, d.methods.index(item.method)]] = 1
            x[fit.cuts + d.person_column[index]] = -1
            for b in d.blocks:
                level = {
                    "case": d.cases.names.index(item.case),
                    "item": list(d.items).index(p.item),
                    "person on an aspect": index * len(d.aspects) + a,
                }[b.name]
                x[fit.cuts + b.start + level] = -1 if b.name == "person on an aspect" else 1
            u = units.index(d.unit_of(p.item, aspect))
            effect = float(x[:outer] @ fit.outer) + float(fit.unit[u])
            x[outer + u] = 1
            every += information(fit.outer[d.cuts[a] : d.cuts[a + 1]] - effect) * np.outer(x, x)
    inverse, coefficients = np.linalg.inv(every)[:outer, :outer], _wanted(fit)
    return np.diag(coefficients.T @ inverse @ coefficients)


def test_a_rating_s_gain_is_that_of_the_whole_matrix(fit: FacetFit) -> None:
    board, some = _Board(fit, possible(fit)), (0, 7, 23, 41)
    before, gains = whole(fit, []), board.gains()
    for n in some:
        total = before.sum() - whole(fit, [board.possible[n]]).sum()
        if board.aspects == 1:
            assert gains[n] == pytest.approx(total, rel=1e-6)
        else:
            assert gains[n] == pytest.approx(total, rel=0.2), "aspects of one rating are added up"


def test_the_plan_takes_the_best_each_time_and_keeps_to_the_room(fit: FacetFit) -> None:
    room = {"p0": 2, "p1": 1, "p2": 0}
    plan = plan_ratings(fit, possible(fit), room)
    assert [sum(p.person == person for p in plan) for person in ("p0", "p1", "p2")] == [2, 1, 0]
    board = _Board(fit, [p for p in possible(fit) if room[p.person]])
    assert plan[0] == board.possible[int(np.argmax(board.gains()))]


def test_an_item_goes_to_no_more_people_than_it_has_places(fit: FacetFit) -> None:
    items = list(fit.design.items)
    plan = plan_ratings(fit, possible(fit), {"p0": 9, "p1": 9, "p2": 9}, places={items[0]: 1, items[-1]: 2})
    assert sorted(p.item for p in plan) == sorted([items[0], items[-1], items[-1]])


def test_unknown_people_items_and_no_room_give_an_empty_plan(fit: FacetFit) -> None:
    assert (
        plan_ratings(
            fit, [PossibleRating("zoe", next(iter(fit.design.items))), PossibleRating("p0", "none")], {"p0": 5}
        )
        == []
    )
    assert plan_ratings(fit, possible(fit), {}) == []


@pytest.mark.parametrize("distances", [[-1.0, 0.5, 2.0], [0.0], [-8.0, 8.0]])
def test_information_is_the_expected_squared_slope(distances: list[float]) -> None:
    def chances(shift: float) -> Floats:
        return np.diff([0.0, *expit(np.array(distances) - shift), 1.0])

    slope = (chances(1e-6) - chances(-1e-6)) / 2e-6
    assert information(np.array(distances)) == pytest.approx(float((slope**2 / chances(0.0)).sum()), rel=1e-5, abs=1e-9)
