"""The fit against its own definition, against statsmodels' figures, and against brute-force integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from benchmarks.rating.panels import Panel, Scripts
from curation.stats.estimates import Floats
from curation.stats.facets import fit as module
from curation.stats.facets.fit import FacetDesign, FacetRating, facet_design, fit_facets

WORLD = Panel(np.array([[-0.8, 0.0, 0.9]]), np.array([[-0.6], [0.0], [0.7]]))


@pytest.fixture(scope="module")
def ratings() -> list[FacetRating]:
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


@pytest.mark.parametrize("aspects", [1, 2])
def test_the_fit_is_the_maximum_and_its_covariance_the_inverse_curvature(aspects: int) -> None:
    world = Panel(np.tile([-0.5, 0.6], (aspects, 1)), np.tile([[-0.4], [0.4]], (1, aspects)), (0.8, 0.7, 0.5))
    scripts = Scripts(world, np.random.default_rng(aspects), cases=5)
    design = facet_design(sorted(scripts.rated(scripts.shared(np.random.default_rng(2), overlap=2))))
    variance = dict.fromkeys([*(b.name for b in design.blocks), "unit"], 0.7)
    fit = fit_facets(design, variance=variance)
    x = np.concatenate([fit.outer, fit.unit])

    def value(at: Floats) -> float:
        return total(design, at, variance)

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


def test_without_random_effects_it_is_the_cumulative_logit_of_statsmodels(
    ratings: list[FacetRating], monkeypatch: pytest.MonkeyPatch
) -> None:
    """statsmodels 0.15.0, ``OrderedModel(values, persons and methods as 0 and 1, distr="logit").fit("bfgs")``;
    its persons count up, severities down."""
    monkeypatch.setattr("curation.stats.facets.fit.WEAK", 1e-9)
    monkeypatch.setattr("curation.stats.facets.fit.PANEL", 1e-6)
    design = facet_design(ratings)
    fit = fit_facets(design, variance={"case": 1e-9, "unit": 1e-9})
    person = fit.outer[fit.cuts + design.person_column]
    method = fit.outer[fit.cuts + design.method_column[0, 1:]]
    effects = [*(person[1:] - person[0]), *method]
    assert effects == pytest.approx(STATSMODELS, abs=2e-4)


STATSMODELS = [0.331000, 1.043686, 0.743714, 1.517857]


def marginal(x: Floats, ratings: list[FacetRating], nodes: Floats, weights: Floats) -> float:
    """Minus the log-likelihood with the item effects integrated out on a grid; persons and methods as fixed effects."""
    cuts = np.cumsum(np.concatenate([[x[0]], np.exp(x[1:6])]))
    persons, methods, spread = np.concatenate([[0.0], x[6:8]]), np.concatenate([[0.0], x[8:10]]), np.exp(x[10])
    items: dict[str, Floats] = {}
    for r in ratings:
        effect = methods[int(r.method[1:])] - persons[int(r.person[1:])] + spread * nodes
        above = np.concatenate([[np.full(len(nodes), 0.0)], [expit(c - effect) for c in cuts], [np.ones(len(nodes))]])
        items[r.item] = items.get(r.item, np.ones(len(nodes))) * (above[r.value] - above[r.value - 1])
    return -float(sum(np.log(p @ weights) for p in items.values()))


@pytest.mark.slow
def test_one_random_effect_is_near_the_integrated_likelihood() -> None:
    """An independent estimator: Gauss-Hermite quadrature over the items, maximised by scipy."""
    world = Panel(WORLD.effects, WORLD.severity, (0.0, 1.2, 0.0))
    scripts = Scripts(world, np.random.default_rng(8), cases=50)
    rows = [r._replace(case=r.item) for r in sorted(scripts.rated(scripts.shared(np.random.default_rng(9), overlap=3)))]
    assert {r.value for r in rows} == set(range(1, 8))
    nodes, weights = np.polynomial.hermite_e.hermegauss(25)
    start = np.array([-3.0, *np.zeros(5), 0.6, 1.2, 0.8, 1.6, 0.2])
    best = optimize.minimize(marginal, start, (rows, nodes, weights / weights.sum()), method="L-BFGS-B").x
    design = facet_design(rows)
    fit = fit_facets(design)
    assert fit.converged and not design.blocks
    person = fit.outer[fit.cuts + design.person_column]
    method = fit.outer[fit.cuts + design.method_column[0, 1:]]
    assert [*(person[1:] - person[0]), *method] == pytest.approx(best[6:10].tolist(), abs=0.15)
    assert np.sqrt(fit.variance["unit"]) == pytest.approx(np.exp(best[10]), rel=0.12)


def test_a_variance_that_is_none_goes_to_the_floor_and_comes_to_rest() -> None:
    world = Panel(WORLD.effects, WORLD.severity, (0.0, 0.0, 0.0))
    scripts = Scripts(world, np.random.default_rng(1), cases=60)
    fit = fit_facets(facet_design(sorted(scripts.rated(scripts.shared(np.random.default_rng(2), overlap=3)))))
    assert fit.converged and max(fit.variance.values()) < 0.3


def test_a_method_that_always_gets_the_highest_point_stays_finite(ratings: list[FacetRating]) -> None:
    fit = fit_facets(facet_design([r._replace(value=7) if r.method == "m2" else r for r in ratings]))
    assert np.isfinite(fit.outer).all() and np.isfinite(fit.covariance).all()


def test_the_order_of_thresholds_is_never_lost(ratings: list[FacetRating]) -> None:
    fit = fit_facets(facet_design(ratings))
    assert (np.diff(fit.outer[: fit.cuts]) > 0).all()
    parts = module._Parts(fit.design)
    assert parts.value(np.flip(fit.outer), fit.unit, fit.variance) == -np.inf
