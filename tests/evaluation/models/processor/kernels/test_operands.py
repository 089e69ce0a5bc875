"""The seven operands are the sums of a matrix's quarters, and what is not finite is told."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels.operands import split_in_seven


def run(states: np.ndarray, half: int, *, by_loop: bool) -> tuple[np.ndarray, float]:
    out, check = np.full((7, half, states.shape[1] // 2), 9, np.float32), np.ones(1, np.float32)
    loop = compiled(split_in_seven) if by_loop else split_in_seven
    assert loop is not None
    loop(states, out, check)
    return out, float(check[0])


@pytest.mark.parametrize(
    "by_loop", [False, pytest.param(True, marks=pytest.mark.skipif(not has_compiler(), reason=""))]
)
@pytest.mark.parametrize(("rows", "half"), [(6, 3), (5, 3), (5, 4), (1, 1)])
def test_sums_of_quarters(rows: int, half: int, by_loop: bool) -> None:
    states = np.random.default_rng(rows).standard_normal((rows, 10), np.float32)
    whole = np.zeros((2 * half, 10), np.float32)
    whole[:rows] = states
    (a, b), (c, d) = ((part[:, :5], part[:, 5:]) for part in (whole[:half], whole[half:]))
    got, check = run(states, half, by_loop=by_loop)
    assert np.array_equal(got, np.stack([a + d, c + d, a, d, a + b, c - a, b - d])) and check == 0


@pytest.mark.parametrize("at", [(0, 0), (0, 9), (2, 1), (4, 7)])
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
@pytest.mark.skipif(not has_compiler(), reason="numba is not installed")
def test_an_entry_that_is_not_finite_is_told(strange: float, at: tuple[int, int]) -> None:
    states = np.ones((5, 10), np.float32)
    states[at] = strange
    assert np.isnan(run(states, 3, by_loop=True)[1])
