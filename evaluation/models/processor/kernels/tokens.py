"""A norm that reads some rows of many, and the sum of rows with what was made of some of them."""

from __future__ import annotations

import math

import numpy as np


def norm_some(states: np.ndarray, at: np.ndarray, weight: np.ndarray, eps: float, out: np.ndarray) -> None:
    """x/√(mean x² + ε) times a weight, for some rows.

    Args:
        states: float32 [rows, width].
        at: Numbers of the rows, int64 [some].
        weight: float32 [width].
        eps: ε.
        out: Written, float32 [some, width].
    """
    width = states.shape[1]
    for n in range(len(at)):
        x, y = states[at[n]], out[n]
        total = np.float32(0.0)
        for k in range(width):
            total += x[k] * x[k]
        scale = np.float32(1.0 / math.sqrt(total / width + eps))
        for k in range(width):
            y[k] = x[k] * scale * weight[k]


def add_some(states: np.ndarray, at: np.ndarray, more: np.ndarray, out: np.ndarray) -> None:
    """Rows, and to some of them something added.

    Args:
        states: float32 [rows, width].
        at: Numbers of the rows to which something is added, rising, int64 [some].
        more: What is added, float32 [some, width].
        out: Written, float32 [rows, width].
    """
    rows, width = states.shape
    n = 0
    for r in range(rows):
        x, y = states[r], out[r]
        if n < len(at) and at[n] == r:
            z = more[n]
            for k in range(width):
                y[k] = x[k] + z[k]
            n += 1
        else:
            for k in range(width):
                y[k] = x[k]
