"""The left operands of Strassen's seven products, in one reading of the matrix that they are made of."""

from __future__ import annotations

import numpy as np


def split_in_seven(states: np.ndarray, out: np.ndarray, check: np.ndarray) -> None:
    """Sums and differences of a matrix's four quarters, as ``seven_products`` orders them.

    Args:
        states: float32 [rows, width], the width even. A row without a partner in the other half has zeros for one.
        out: Written, float32 [7, at least half the rows; half the width].
        check: Written, float32 [1]: 0 where all entries are finite, else NaN.
    """
    rows, half, middle = len(states), out.shape[1], out.shape[2]
    none, total = np.zeros(states.shape[1], np.float32), np.float32(0.0)
    for r in range(half):
        x = states[r]
        y = states[r + half] if r + half < rows else none
        for k in range(middle):
            a, b, c, d = x[k], x[k + middle], y[k], y[k + middle]
            out[0, r, k], out[1, r, k], out[2, r, k], out[3, r, k] = a + d, c + d, a, d
            out[4, r, k], out[5, r, k], out[6, r, k] = a + b, c - a, b - d
            total += (a + b + c + d) * np.float32(0.0)
    check[0] = total
