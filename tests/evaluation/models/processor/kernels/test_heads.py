"""The loop does as machine code what it does in Python, which is the formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evaluation.models.processor.compilation import compiled
from evaluation.models.processor.kernels.heads import PART, sum_exponentials


def results(run: Callable[..., None], rows: int, count: int) -> tuple[Any, ...]:
    draw = np.random.default_rng(rows)
    states, weight = (draw.standard_normal((n, 5)).astype(np.float32) for n in (count, rows))
    largest, total, mean = np.empty(count, np.float32), np.empty(count), np.empty((count, 5))
    run(states, weight, largest, total, mean)
    logits = states.astype(np.float64) @ weight.T.astype(np.float64)
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return (largest, total, mean), (logits.max(1), shares.sum(1), shares @ weight)


@pytest.mark.parametrize("rows", [1, PART - 1, PART, 2 * PART + 3])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_equals_the_formula(rows: int, count: int) -> None:
    runs = [run for run in (sum_exponentials, compiled(sum_exponentials)) if run is not None]
    for run in runs:
        for got, want in zip(*results(run, rows, count), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
