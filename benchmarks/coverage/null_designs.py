"""Rows of tests where the null holds: what the reports decide (``comparison_families``); single tests as warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.coverage.mean_designs import by_case, crossed_items, linked
from benchmarks.coverage.rows import Array, Outcome, Rng, Row
from curation.stats.bootstrap import Resampling
from curation.stats.bounded import SHARE, PairedItem, Scale
from curation.stats.correlation import spearman
from curation.stats.paired import sign_flip
from evaluation.analysis.pairwise_tests import NO_SCALE, comparison_families

_PLAN = Resampling(400)
_UNSEEN = (
    "losses that were not drawn are seen by no test, and without a scale nothing bounds them; every decision says so"
)
_SIGNS = "its null is symmetry, and skewed differences with mean 0 are not symmetric; it never decides alone"
Sides = tuple[Mapping[str, float], Mapping[str, float]]


def _named(first: Array, second: Array) -> Sides:
    one, two = ({str(k): float(v) for k, v in enumerate(side)} for side in (first, second))
    return one, two


def _decided(draw: Callable[[Rng, int], Sides], scale: Scale | None) -> Callable[[Rng, int], Outcome]:
    """Whether the report would call one side better."""

    def once(rng: Rng, n: int) -> Outcome:
        first, second = draw(rng, n)
        (family,) = comparison_families("m", {"a": first, "b": second}, baseline=None, scale=scale)
        return family.pairs[0].verdict in ("first", "second")

    return once


def _flipped(draw: Callable[[Rng, int], Sides]) -> Callable[[Rng, int], Outcome]:
    """Whether the sign-flip test alone rejects."""

    def once(rng: Rng, n: int) -> Outcome:
        first, second = draw(rng, n)
        p = sign_flip(np.array([first[k] - second[k] for k in first]), _PLAN)
        return p is not None and p <= 0.05

    return once


def _crossed(rng: Rng, n: int) -> Outcome:
    items: list[PairedItem] = crossed_items(rng, n)
    first, second = by_case(items)
    values = {"a": first, "b": second}
    (family,) = comparison_families("m", values, baseline=None, scale=SHARE, items=lambda *_: items)
    return family.pairs[0].verdict in ("first", "second")


def _uncorrelated(rng: Rng, n: int) -> Outcome:
    estimate = spearman(rng.integers(1, 8, n).tolist(), rng.integers(1, 8, n).tolist(), resampling=_PLAN)
    return None if estimate.p is None else estimate.p <= 0.05


def normal(rng: Rng, n: int) -> Sides:
    """Normal differences."""
    return _named(rng.normal(size=n), np.zeros(n))


def tied(rng: Rng, n: int) -> Sides:
    """Yes or no on both sides, equal in 70 % of the cases."""
    hits, gap = rng.integers(0, 2, n).astype(float), rng.random(n) < 0.3
    return _named(hits, np.where(gap, 1 - hits, hits))


def same_rates(rng: Rng, n: int) -> Sides:
    """Rates of 0.9 on both sides, five prompts a case."""
    return linked(rng, n, 0.9, 0.9)


def exponential(rng: Rng, n: int) -> Sides:
    """Skewed differences with mean 0 and no scale."""
    return _named(rng.exponential(size=n) - 1, np.zeros(n))


def lognormal(rng: Rng, n: int) -> Sides:
    """Strongly skewed differences with mean 0 and no scale."""
    return _named(rng.lognormal(0, 1, n) - np.exp(0.5), np.zeros(n))


def rare_losses(chance: float) -> Callable[[Rng, int], Sides]:
    """Small gains of about the same size in most cases, and in few the loss of nearly everything: mean 0."""

    def drawn(rng: Rng, n: int) -> Sides:
        gains = (1 - 0.01 * rng.random(n)) * (rng.random(n) >= chance)
        return _named(gains, np.full(n, 0.995 * (1 - chance)))

    return drawn


def null_rows() -> list[Row]:
    """Tests as the report decides, then single tests that must not decide alone."""
    on_scale, no_scale = "as decided, on a scale", "as decided, no scale"
    skewed, rare = "mean 0, skewed (exponential), no scale", "mean 0, rare large losses (5 %)"
    few = _decided(rare_losses(0.05), None)
    return [
        Row("tests", "no difference, many ties (yes or no)", on_scale, _decided(tied, SHARE), 0.06),
        Row("tests", "rates of 0.9, five prompts a case", on_scale, _decided(same_rates, SHARE), 0.06),
        Row("tests", rare, on_scale, _decided(rare_losses(0.05), SHARE), 0.06),
        Row("tests", "mean 0, rare large losses (20 %)", on_scale, _decided(rare_losses(0.2), SHARE), 0.06),
        Row("tests", "no difference, neighbours recur", "as decided, two-way", _crossed, 0.06),
        Row("tests", "no difference, symmetric, no scale", no_scale, _decided(normal, None), 0.06),
        Row("tests", skewed, no_scale, _decided(exponential, None), 0.06),
        Row("tests", "mean 0, strongly skewed (log-normal)", no_scale, _decided(lognormal, None), 0.06),
        Row("tests", rare, no_scale, few, None, NO_SCALE, _UNSEEN),
        Row("tests", "no correlation of ratings", "Spearman, permutation p", _uncorrelated, 0.06),
        Row("tests", skewed, "sign-flip alone", _flipped(exponential), None, why=_SIGNS),
        Row("tests", rare, "sign-flip alone", _flipped(rare_losses(0.05)), None, why=_SIGNS),
    ]
