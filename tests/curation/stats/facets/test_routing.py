"""Which rating tells most: against the same written with whole matrices, and against ratings that tell nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t as student

from benchmarks.rating.panels import Panel, Scripts
from curation.stats.estimates import Floats
from curation.stats.facets.fit import FacetFit, FacetItem, facet_design, fit_facets
from curation.stats.facets.means import PossibleRating, _Board, _wanted, information, plan_ratings, report_of_fit


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


def width_after(fit: FacetFit, possible: Sequence[PossibleRating]) -> float:
    """Width of the widest interval of a difference if all these ratings were made as well; 0 with one method."""
    board = _Board(fit, [p for p in possible if p.person in fit.design.persons and p.item in fit.design.items])
    for n in range(len(board.possible)):
        board.count(n)
    variance = np.einsum("qd,qd->d", board.wanted, board.solved)
    t = float(student.ppf(0.975, fit.design.rated_cases - 1))
    return 2 * t * float(np.sqrt(variance.max())) if variance.size else 0.0


def test_counted_ratings_are_those_of_the_whole_matrix(fit: FacetFit) -> None:
    ratings = [possible(fit)[n] for n in (3, 3 + len(fit.design.items), 11, 30, 31)]
    t = float(student.ppf(0.975, fit.design.rated_cases - 1))
    assert width_after(fit, ratings) == pytest.approx(2 * t * np.sqrt(whole(fit, ratings).max()), rel=1e-8)
    assert width_after(fit, []) > width_after(fit, ratings) > width_after(fit, possible(fit))


def test_the_plan_takes_the_best_each_time_and_keeps_to_the_room(fit: FacetFit) -> None:
    room = {"p0": 2, "p1": 1, "p2": 0}
    plan = plan_ratings(fit, possible(fit), room)
    assert [sum(p.person == person for p in plan) for person in ("p0", "p1", "p2")] == [2, 1, 0]
    board = _Board(fit, [p for p in possible(fit) if room[p.person]])
    assert plan[0] == board.possible[int(np.argmax(board.gains()))]
    chance = [possible(fit)[n] for n in np.random.default_rng(0).choice(24, 3, replace=False)]
    assert width_after(fit, plan) < width_after(fit, chance)


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


def test_waiting_items_leave_the_estimates_as_they_are() -> None:
    world = Panel(np.array([[-0.5, 0.6]]), np.array([[-0.4], [0.4]]))
    scripts = Scripts(world, np.random.default_rng(6), cases=10)
    rows = sorted(scripts.rated([(p, i) for p in ("p0", "p1") for i, *_ in scripts.items if i < "c006"]))
    waiting = [FacetItem(*i) for i in scripts.items]
    plain, more = (report_of_fit(fit_facets(facet_design(rows, w)), rows) for w in ([], waiting))
    for key, e in plain.means.items():
        assert more.means[key].value == pytest.approx(e.value, abs=1e-6)
        assert more.means[key].high == pytest.approx(e.high, abs=1e-6)


@pytest.mark.parametrize("distances", [[-1.0, 0.5, 2.0], [0.0], [-8.0, 8.0]])
def test_information_is_the_expected_squared_slope(distances: list[float]) -> None:
    def chances(shift: float) -> Floats:
        return np.diff([0.0, *expit(np.array(distances) - shift), 1.0])

    slope = (chances(1e-6) - chances(-1e-6)) / 2e-6
    assert information(np.array(distances)) == pytest.approx(float((slope**2 / chances(0.0)).sum()), rel=1e-5, abs=1e-9)
