"""Norms and sums of some rows, in Python and as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels.tokens import add_some, norm_some

LOOP = pytest.param(compiled, marks=pytest.mark.skipif(not has_compiler(), reason="numba is not installed"))


def as_it_is(loop: Callable[..., None]) -> Callable[..., None]:
    return loop


@pytest.mark.parametrize("form", [as_it_is, LOOP])
@pytest.mark.parametrize("at", [[0, 1, 2, 3], [1, 3], [0], [3], []])
def test_some_rows(at: list[int], form: Callable[[Any], Any]) -> None:
    draw = np.random.default_rng(len(at))
    states, weight = draw.standard_normal((4, 10), np.float32), draw.standard_normal(10, np.float32)
    rows, normed = np.array(at, np.int64), np.full((len(at), 10), 9, np.float32)
    form(norm_some)(states, rows, weight, 1e-5, normed)
    exact = states[at].astype(np.float64)
    want = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * weight
    assert np.allclose(normed, want, rtol=1e-5, atol=1e-6)
    more, out = draw.standard_normal((len(at), 10), np.float32), np.full((4, 10), 9, np.float32)
    form(add_some)(states, rows, more, out)
    sums = states.copy()
    sums[at] += more
    assert np.array_equal(out, sums)
