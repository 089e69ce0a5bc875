"""Do 95 % intervals cover 95 %? Simulations with a known truth: small by default, larger ones marked slow.

Bounds allow three standard errors of the simulation itself.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from curation.stats.agreement import alpha
from curation.stats.bootstrap import Resampling, case_means, cluster_bootstrap
from curation.stats.bounded import clustered_interval
from curation.stats.correlation import spearman
from curation.stats.intervals import mean_interval
from curation.stats.paired import sign_flip
from curation.stats.rating_table import RatingTable


def coverage(once: Callable[[np.random.Generator], tuple[float, float]], truth: float, runs: int) -> float:
    """Share of runs whose interval holds the truth."""
    rng = np.random.default_rng(2026)
    ends = [once(rng) for _ in range(runs)]
    return sum(low <= truth <= high for low, high in ends) / runs


def slack(runs: int) -> float:
    return 3 * math.sqrt(0.05 * 0.95 / runs)


def clustered(rng, cases=40, each=5):
    """Prompts of a case hit or miss together: mean 0, most variance between cases."""
    values = rng.normal(0, 1, (cases, 1)) + rng.normal(0, 0.5, (cases, each))
    return values.ravel().tolist(), [str(n) for n in range(cases) for _ in range(each)]


def crossed(rng, cases=40, neighbours=25, each=5):
    """Neighbours recur across cases and bring their own effect: mean 0."""
    block_rows = np.concatenate([rng.choice(neighbours, each, replace=False) for _ in range(cases)])
    row = np.repeat(np.arange(cases), each)
    values = (
        0.5 * rng.normal(size=cases)[row] + rng.normal(size=neighbours)[block_rows] + 0.5 * rng.normal(size=len(row))
    )
    return values.tolist(), [str(r) for r in row], [str(m) for m in block_rows]


def ends(interval):
    return interval.low, interval.high


def test_clustering_by_case_covers_and_prompts_do_not():
    def by_case(rng):
        return ends(mean_interval(list(case_means(*clustered(rng)).values())))

    def by_prompt(rng):
        return ends(mean_interval(clustered(rng)[0]))

    assert coverage(by_case, 0, 400) >= 0.94 - slack(400)
    assert coverage(by_prompt, 0, 400) < 0.75


def test_clustering_both_ways_covers_and_by_case_does_not():
    def both(rng):
        return ends(clustered_interval(*crossed(rng), scale=None))

    def by_case(rng):
        values, cases, _ = crossed(rng)
        return ends(mean_interval(list(case_means(values, cases).values())))

    assert coverage(both, 0, 200) >= 0.92 - slack(200)
    assert coverage(by_case, 0, 200) < 0.75


def test_bootstraps_cover_quickly():
    plan = Resampling(200)
    assert coverage(lambda r: ends(cluster_bootstrap(*clustered(r), plan)), 0, 150) >= 0.93 - slack(150)


def test_sign_flip_rejects_as_often_as_it_says():
    rng = np.random.default_rng(7)
    p = [sign_flip(rng.normal(size=10)) for _ in range(400)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=slack(400))


def panel(rng, cases, raters=3):
    """Ratings 1-5 that follow a quality of the case with noise; two units a case."""
    quality = np.repeat(rng.normal(size=cases), 2)[:, None]
    noisy = quality + 0.8 * rng.normal(size=(2 * cases, raters))
    codes = np.digitize(noisy, [-1.2, -0.4, 0.4, 1.2]).astype(float)
    names = tuple(f"c{n // 2}" for n in range(2 * cases))
    units = tuple(f"u{n}" for n in range(2 * cases))
    return RatingTable(codes, units, tuple("abcde"[:raters]), names, (1.0, 2.0, 3.0, 4.0, 5.0), True)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_covers(level):
    truth = alpha(panel(np.random.default_rng(0), 60_000), level=level, resampling=Resampling(0)).value

    def once(rng):
        return ends(alpha(panel(rng, 50), level=level, resampling=Resampling(1000)))

    assert coverage(once, truth, 800) >= 0.93 - slack(800)


@pytest.mark.slow
def test_spearman_covers():
    def pairs(rng, n):
        x = rng.integers(1, 8, n)
        return x, np.clip(x + rng.integers(-3, 4, n), 1, 7)

    big = pairs(np.random.default_rng(0), 200_000)
    truth = spearman(*big, resampling=Resampling(0)).value

    def once(rng):
        return ends(spearman(*pairs(rng, 80), resampling=Resampling(500)))

    assert coverage(once, truth, 300) >= 0.92 - slack(300)


@pytest.mark.slow
def test_bootstraps_cover():
    plan = Resampling(1000)
    by_case = coverage(lambda r: ends(cluster_bootstrap(*clustered(r), plan)), 0, 2000)
    assert by_case == pytest.approx(0.945, abs=0.02)
