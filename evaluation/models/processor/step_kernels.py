"""Small steps between a block's products as loops that are compiled: norms, and attention with rotary positions.

Over a few tokens each step of PyTorch's is a call that takes longer than its arithmetic; here a norm, or all of a short
row's attention, is one call. ``fused_steps`` and ``fused_blocks`` have the same in PyTorch, their slow twin.
"""

from __future__ import annotations

import math

import numpy as np

BARRED = np.float32(-1e38)
"""What is added to a score below this bars the key."""


def norm_forward(states: np.ndarray, weight: np.ndarray, eps: float, out: np.ndarray, scales: np.ndarray) -> None:
    """x/√(mean x² + ε) times a weight.

    Args:
        states: float32 [rows, width].
        weight: float32 [width].
        eps: ε.
        out: Written, [rows, width].
        scales: 1/√(mean x² + ε), written, [rows].
    """
    rows, width = states.shape
    for r in range(rows):
        x, y = states[r], out[r]
        total = np.float32(0.0)
        for k in range(width):
            total += x[k] * x[k]
        scale = np.float32(1.0 / math.sqrt(total / width + eps))
        scales[r] = scale
        for k in range(width):
            y[k] = x[k] * scale * weight[k]


def norm_backward(
    slopes: np.ndarray, states: np.ndarray, scales: np.ndarray, weight: np.ndarray, more: np.ndarray
) -> None:
    """The slope with respect to a norm's input, and more, written over that with respect to its output.

    Args:
        slopes: float32 [rows, width]; written.
        states: The norm's input, [rows, width].
        scales: As ``norm_forward`` gives them, [rows].
        weight: [width].
        more: Added, [rows, width].
    """
    rows, width = slopes.shape
    for r in range(rows):
        g, x, a, scale = slopes[r], states[r], more[r], scales[r]
        total = np.float32(0.0)
        for k in range(width):
            total += g[k] * weight[k] * x[k]
        along = -total * scale * scale * scale / np.float32(width)
        for k in range(width):
            g[k] = g[k] * weight[k] * scale + x[k] * along + a[k]


def attention_forward(
    joint: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    mask: np.ndarray,
    scale: float,
    heads: int,
    shares: np.ndarray,
    out: np.ndarray,
) -> None:
    """Turn queries and keys by their positions, in place, and attend; a query without a key gives zeros.

    Args:
        joint: Queries, keys and values, float32 [rows, places, heads and twice the heads of keys, size].
        cos: Cosines of the positions, float32 [rows or 1, places, size].
        sin: Sines of the positions, float32 [rows or 1, places, size].
        mask: Added to the scores, float32 [rows or 1, places, places].
        scale: By which scores are multiplied.
        heads: Heads of queries.
        shares: Written, float32 [rows, heads, places, places].
        out: Written, float32 [rows, places, heads, size].
    """
    rows, places, total, size = joint.shape
    few, half = (total - heads) // 2, size // 2
    for r in range(rows):
        t, m = min(r, cos.shape[0] - 1), min(r, mask.shape[0] - 1)
        for p in range(places):
            c, s = cos[t, p], sin[t, p]
            for h in range(heads + few):
                x = joint[r, p, h]
                for k in range(half):
                    a, b = x[k], x[k + half]
                    x[k] = a * c[k] - b * s[k]
                    x[k + half] = b * c[k + half] + a * s[k + half]
        for h in range(heads):
            own = heads + h // (heads // few)
            for p in range(places):
                query, share, result = joint[r, p, h], shares[r, h, p], out[r, p, h]
                largest, seen = np.float32(-np.inf), 0
                for k in range(places):
                    share[k] = 0.0
                    if mask[m, p, k] < BARRED:
                        continue
                    key, score = joint[r, k, own], np.float32(0.0)
                    for i in range(size):
                        score += query[i] * key[i]
                    share[k] = score * scale + mask[m, p, k]
                    seen += 1
                    if share[k] > largest:
                        largest = share[k]
                result[:] = 0.0
                if seen == 0:
                    continue
                whole = np.float32(0.0)
                for k in range(places):
                    if mask[m, p, k] >= BARRED:
                        share[k] = math.exp(share[k] - largest)
                        whole += share[k]
                for k in range(places):
                    if mask[m, p, k] >= BARRED:
                        share[k] /= whole
                        value, one = joint[r, k, own + few], share[k]
                        for i in range(size):
                            result[i] += one * value[i]


def attention_backward(
    joint: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    scale: float,
    heads: int,
    shares: np.ndarray,
    slopes: np.ndarray,
    out: np.ndarray,
) -> None:
    """The slope with respect to ``joint`` as it was given to ``attention_forward``.

    Args:
        joint: As ``attention_forward`` left it.
        cos: As there.
        sin: As there.
        scale: As there.
        heads: As there.
        shares: As there.
        slopes: With respect to what attention gave, float32 [rows, places, heads, size].
        out: Written, of the shape of ``joint``.
    """
    rows, places, total, size = joint.shape
    few, half = (total - heads) // 2, size // 2
    of_shares = np.zeros(places, np.float32)
    out[:] = 0.0
    for r in range(rows):
        t = min(r, cos.shape[0] - 1)
        for h in range(heads):
            own = heads + h // (heads // few)
            for p in range(places):
                query, share, slope, of_query = joint[r, p, h], shares[r, h, p], slopes[r, p, h], out[r, p, h]
                mean = np.float32(0.0)
                for k in range(places):
                    one = share[k]
                    if one == 0.0:
                        continue
                    value, of_value, along = joint[r, k, own + few], out[r, k, own + few], np.float32(0.0)
                    for i in range(size):
                        along += slope[i] * value[i]
                    for i in range(size):
                        of_value[i] += one * slope[i]
                    of_shares[k] = along
                    mean += one * along
                for k in range(places):
                    if share[k] == 0.0:
                        continue
                    key, of_key = joint[r, k, own], out[r, k, own]
                    of_score = np.float32(share[k] * (of_shares[k] - mean) * scale)
                    for i in range(size):
                        of_query[i] += of_score * key[i]
                    for i in range(size):
                        of_key[i] += of_score * query[i]
        for p in range(places):
            c, s = cos[t, p], sin[t, p]
            for h in range(heads + few):
                x = out[r, p, h]
                for k in range(half):
                    a, b = x[k], x[k + half]
                    x[k] = a * c[k] + b * s[k + half]
                    x[k + half] = b * c[k + half] - a * s[k]
