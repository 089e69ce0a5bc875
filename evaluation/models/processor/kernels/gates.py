"""silu(gate) · up as compiled loops, with an exponential that the compiler can take in vectors."""

from __future__ import annotations

import numpy as np

FAR = np.float32(126.0)
"""Exponents of two are kept within this: sigmoids of larger numbers are 0 or 1 but for 1e-38."""

PART = 128
"""Entries of a row that are added up at a time: parts of nine rows stay in the processor's first cache."""


def gate_row(a: np.ndarray, b: np.ndarray, power: np.ndarray, y: np.ndarray) -> None:
    """silu(a)·b = a·b/(1 + exp(-a)) of one row.

    exp(x) = 2ⁿ·2ᶠ, n the whole number next to x/ln 2; 2ᶠ by its Taylor series, to 2e-7 of its value.

    Args:
        a: float32 [width].
        b: float32 [width].
        power: Room for whole numbers, int32 [width].
        y: Written, float32 [width].
    """
    factor = power.view(np.float32)
    for k in range(len(y)):
        x = min(max(a[k] * np.float32(-1.44269504), -FAR), FAR)
        whole = np.floor(x + np.float32(0.5))
        f = x - whole
        s = np.float32(1.33335581e-3) + f * np.float32(1.54035304e-4)
        s = np.float32(5.55041087e-2) + f * (np.float32(9.61812911e-3) + f * s)
        y[k] = np.float32(1.0) + f * (np.float32(6.93147181e-1) + f * (np.float32(2.40226507e-1) + f * s))
        power[k] = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23))
    for k in range(len(y)):
        y[k] = a[k] * b[k] / (np.float32(1.0) + y[k] * factor[k])


def gate_forward(joint: np.ndarray, out: np.ndarray) -> None:
    """silu(a)·b of every row.

    Args:
        joint: a and b side by side, float32 [rows, twice the width].
        out: Written, float32 [rows, width].
    """
    rows, width = out.shape
    power = np.empty(width, np.int32)
    for r in range(rows):
        gate_row(joint[r, :width], joint[r, width:], power, out[r])


def gate_of_seven(products: tuple[np.ndarray, ...], out: np.ndarray) -> None:
    """silu(a)·b of every row, a and b made of Strassen's seven products.

    Args:
        products: Seven of float32 [at least half the rows; width], as ``seven_products`` orders them.
        out: Written, float32 [rows, width].
    """
    rows, width = out.shape
    half, part = len(products[0]), min(PART, width)
    sums, power = np.empty((4, part), np.float32), np.empty(part, np.int32)
    a, b, c, d = sums[0], sums[1], sums[2], sums[3]
    for r in range(half):
        for start in range(0, width, part):
            size = min(part, width - start)
            at = slice(start, start + size)
            p, q, s, t = products[0][r, at], products[1][r, at], products[2][r, at], products[3][r, at]
            u, v, w = products[4][r, at], products[5][r, at], products[6][r, at]
            for k in range(size):
                a[k], b[k] = p[k] + t[k] - u[k] + w[k], s[k] + u[k]
            for k in range(size):
                c[k], d[k] = q[k] + t[k], p[k] - q[k] + s[k] + v[k]
            gate_row(a, b, power, out[r, at])
            if r + half < rows:
                gate_row(c, d, power, out[r + half, at])
