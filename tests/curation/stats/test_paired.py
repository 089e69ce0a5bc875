import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from curation.stats.bootstrap import Resampling
from curation.stats.paired import (
    holm,
    power_of,
    sign_flip,
    smallest_detectable,
    smallest_p,
)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_sign_flip_is_exact_for_few(gaps):
    observed = abs(sum(gaps))
    every = [
        abs(sum(s * g for s, g in zip(signs, gaps, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(gaps))
    ]
    assert sign_flip(np.array(gaps, dtype=float)) == pytest.approx(np.mean(np.array(every) >= observed))


def test_sign_flip_of_wins_and_losses_is_the_sign_test():
    gaps = np.array([1.0] * 21 + [-1.0] * 9 + [0.0] * 40)
    exact = stats.binomtest(21, 30).pvalue
    assert sign_flip(gaps, Resampling(20_000)) == pytest.approx(exact, abs=0.005)
    assert sign_flip(gaps, Resampling(0)) is None


def test_drawn_signs_agree_with_all_signs():
    gaps = np.random.default_rng(0).normal(0.4, 1, 16)
    more = np.concatenate([gaps, [1e-9]])  # one more difference of no weight: signs are drawn
    assert sign_flip(more, Resampling(20_000)) == pytest.approx(sign_flip(gaps), abs=0.01)


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        # by hand: 4·.005, 3·.01, 2·.03 and 1·.04 raised to the one before
        pytest.param([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], id="four"),
        pytest.param([0.6, 0.7], [1, 1], id="never above one"),
        pytest.param([0.02, None, 0.03], [0.04, None, 0.04], id="undefined is not in the family"),
        pytest.param([0.01, 0.01, 0.01], [0.03, 0.03, 0.03], id="equal"),
        pytest.param([], [], id="empty"),
    ],
)
def test_holm(p_values, expected):
    values = holm({str(n): p for n, p in enumerate(p_values)})
    assert list(values.values()) == [w if w is None else pytest.approx(w) for w in expected]


def test_holm_refuses_what_is_no_p():
    with pytest.raises(ValueError, match="outside"):
        holm({"a": 1.2})


@pytest.mark.parametrize(
    ("effect", "n", "power"),
    # two-sided paired t test at .05, as tabulated (Cohen 1988 and G*Power): least n for 80 % are 199, 34 and 15
    [(0.2, 199, 0.80), (0.5, 34, 0.808), (0.8, 15, 0.82), (0.0, 20, 0.05)],
)
def test_power_by_tables(effect, n, power):
    assert power_of(effect, sd=1, n=n) == pytest.approx(power, abs=5e-3)
    if effect:
        assert power_of(effect, sd=1, n=n) >= 0.8 > power_of(effect, sd=1, n=n - 1)


@pytest.mark.parametrize("n", [2, 3, 5, 34, 400, 1830])
def test_smallest_detectable_has_the_wanted_power(n):
    difference = smallest_detectable(sd=0.3, n=n, power=0.9, level=0.05)
    assert power_of(difference, sd=0.3, n=n) == pytest.approx(0.9)
    assert difference == pytest.approx(0.3 * smallest_detectable(sd=1, n=n, power=0.9))
    assert smallest_detectable(sd=0.3, n=n, power=0.9, family=6) > difference


def test_smallest_detectable_of_many_cases_is_the_normal_one():
    expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * 0.4 / 1830**0.5
    assert smallest_detectable(sd=0.4, n=1830) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("wrong", [{"sd": 0}, {"n": 1}, {"power": 0.01}, {"level": 1}, {"family": 0}])
def test_faulty_designs_are_refused(wrong):
    with pytest.raises(ValueError):
        smallest_detectable(**{"sd": 1.0, "n": 10, **wrong})


def test_the_smallest_p_is_that_of_equal_signs():
    for n in range(1, 9):
        assert smallest_p(n) == sign_flip(np.ones(n))


def test_rounding_noise_is_no_difference() -> None:
    """Six differences of 1e-17, all from additions, gave p = 0.03."""
    for noise in ([1e-17] * 6, [0.1 + 0.2 - 0.3] * 12, [-1e-16] * 40):
        assert sign_flip(np.array(noise)) == 1.0
    assert sign_flip(np.array([1e-17, 1.0, 1.0, 1.0])) == sign_flip(np.array([1.0, 1.0, 1.0])) == 0.25
    assert sign_flip(np.array([1e-9] * 6)) == 0.03125, "small probabilities are differences"
