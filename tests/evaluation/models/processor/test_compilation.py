"""Loops are compiled where numba is, with or without a folder to keep them in, and left alone where it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels.steps import norm_forward


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    compiled.cache_clear()
    yield
    compiled.cache_clear()


def test_nothing_is_compiled_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not has_compiler() and compiled(norm_forward) is None


def test_it_is_compiled_where_there_is_no_place_to_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    own, asked = numba.njit, list[bool]()

    def refuse(**options: Any) -> Any:
        asked.append(options.pop("cache", False))
        if asked[-1]:
            raise RuntimeError("cannot cache function: no locator available")
        return own(**options)

    monkeypatch.setattr(numba, "njit", refuse)
    run = compiled(norm_forward)
    assert run is not None and asked == [True, False] and compiled(norm_forward) is run
    states, weight = np.full((1, 4), 2, np.float32), np.ones(4, np.float32)
    out, scales = np.empty_like(states), np.empty(1, np.float32)
    run(states, weight, 0.0, out, scales)
    assert out.tolist() == [[1.0] * 4] and scales.tolist() == [0.5]
