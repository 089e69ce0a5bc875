"""The compiled loop does what it does as Python, also where nothing can be kept of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from evaluation.models.processor import head_kernel as kernel
from evaluation.models.processor.head_kernel import PART, compiled, sum_exponentials


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
def test_equals_the_function_in_python_and_the_formula(rows: int, count: int) -> None:
    fast, want = results(compiled(sum_exponentials), rows, count)
    slow, _ = results(sum_exponentials, rows, count)
    for got, same, right in zip(fast, slow, want, strict=True):
        np.testing.assert_allclose(got, same, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)


def test_it_is_compiled_where_there_is_no_place_to_keep_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from numba import njit

    asked: list[bool] = []

    def refuse(**options: Any) -> Any:
        asked.append(options.pop("cache", False))
        if asked[-1]:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(kernel, "njit", refuse)
    fast, want = results(compiled(sum_exponentials), 40, 2)
    assert asked == [True, False]
    np.testing.assert_allclose(fast[1], want[1], rtol=1e-5)
