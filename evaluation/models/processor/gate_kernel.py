"""silu(gate) · up as a compiled loop, with an exponential that the compiler can take in vectors."""

from __future__ import annotations

import numpy as np

FAR = np.float32(126.0)
"""Exponents of two are kept within this: sigmoids of larger numbers are 0 or 1 but for 1e-38."""


def gate_forward(joint: np.ndarray, out: np.ndarray) -> None:
    """silu(a)·b = a·b/(1 + exp(-a)).

    exp(x) = 2ⁿ·2ᶠ, n the whole number next to x/ln 2; 2ᶠ by its Taylor series, to 2e-7 of its value.

    Args:
        joint: a and b side by side, float32 [rows, twice the width].
        out: Written, float32 [rows, width].
    """
    rows, width = out.shape
    power = np.empty(width, np.int32)
    factor = power.view(np.float32)
    for r in range(rows):
        a, b, y = joint[r, :width], joint[r, width:], out[r]
        for k in range(width):
            x = min(max(a[k] * np.float32(-1.44269504), -FAR), FAR)
            whole = np.floor(x + np.float32(0.5))
            f = x - whole
            s = np.float32(1.33335581e-3) + f * np.float32(1.54035304e-4)
            s = np.float32(5.55041087e-2) + f * (np.float32(9.61812911e-3) + f * s)
            y[k] = np.float32(1.0) + f * (np.float32(6.93147181e-1) + f * (np.float32(2.40226507e-1) + f * s))
            power[k] = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23))
        for k in range(width):
            y[k] = a[k] * b[k] / (np.float32(1.0) + y[k] * factor[k])
