"""Small steps between a block's products as loops that are compiled: norms, and attention with rotary positions.

Over a few tokens each step of PyTorch's is a call that takes longer than its arithmetic; here a norm is one call,
and a short row's attention three. ``fused_steps`` and ``fused_blocks`` have the same in PyTorch, their slow twin.
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


def turn(joint: np.ndarray, cos: np.ndarray, sin: np.ndarray, count: int) -> None:
    """Turn the first heads by their positions, in place.

    Args:
        joint: float32 [rows, places, heads, size].
        cos: Cosines of the positions, float32 [rows or 1, places, size].
        sin: Sines of the positions, float32 [rows or 1, places, size].
        count: How many heads are turned.
    """
    rows, places, _, size = joint.shape
    half = size // 2
    for r in range(rows):
        t = min(r, cos.shape[0] - 1)
        for p in range(places):
            c, s = cos[t, p], sin[t, p]
            for h in range(count):
                x = joint[r, p, h]
                for k in range(half):
                    a, b = x[k], x[k + half]
                    x[k] = a * c[k] - b * s[k]
                    x[k + half] = b * c[k + half] + a * s[k + half]


def turn_back(joint: np.ndarray, cos: np.ndarray, sin: np.ndarray, count: int) -> None:
    """The slope with respect to what ``turn`` read, written over that with respect to what it wrote."""
    rows, places, _, size = joint.shape
    half = size // 2
    for r in range(rows):
        t = min(r, cos.shape[0] - 1)
        for p in range(places):
            c, s = cos[t, p], sin[t, p]
            for h in range(count):
                x = joint[r, p, h]
                for k in range(half):
                    a, b = x[k], x[k + half]
                    x[k] = a * c[k] + b * s[k + half]
                    x[k + half] = b * c[k + half] - a * s[k]


def share_keys(joint: np.ndarray, mask: np.ndarray, scale: float, heads: int, shares: np.ndarray) -> None:
    """How much each query attends to each key; nothing to any where all are barred.

    Args:
        joint: Queries, keys and values, float32 [rows, places, heads and twice the heads of keys, size], turned.
        mask: Added to the scores, float32 [rows or 1, places, places].
        scale: By which scores are multiplied.
        heads: Heads of queries.
        shares: Written, float32 [rows, heads, places, places].
    """
    rows, places, total, size = joint.shape
    many = heads // ((total - heads) // 2)
    for r in range(rows):
        m = min(r, mask.shape[0] - 1)
        for h in range(heads):
            for p in range(places):
                query, share, allowed = joint[r, p, h], shares[r, h, p], mask[m, p]
                largest, whole = np.float32(-np.inf), np.float32(0.0)
                for k in range(places):
                    share[k] = 0.0
                    if allowed[k] < BARRED:
                        continue
                    key, score = joint[r, k, heads + h // many], np.float32(0.0)
                    for i in range(size):
                        score += query[i] * key[i]
                    share[k] = score * scale + allowed[k]
                    if share[k] > largest:
                        largest = share[k]
                for k in range(places):
                    if allowed[k] >= BARRED:
                        share[k] = math.exp(share[k] - largest)
                        whole += share[k]
                for k in range(places):
                    if allowed[k] >= BARRED:
                        share[k] /= whole


def mix_values(joint: np.ndarray, heads: int, shares: np.ndarray, out: np.ndarray) -> None:
    """Values by the shares of their keys.

    Args:
        joint: As in ``share_keys``.
        heads: As there.
        shares: As it wrote them.
        out: Written, float32 [rows, places, heads, size].
    """
    rows, places, total, size = joint.shape
    few = (total - heads) // 2
    out[:] = 0.0
    for r in range(rows):
        for h in range(heads):
            own = heads + few + h // (heads // few)
            for p in range(places):
                share, result = shares[r, h, p], out[r, p, h]
                for k in range(places):
                    one = share[k]
                    if one != 0.0:
                        value = joint[r, k, own]
                        for i in range(size):
                            result[i] += one * value[i]


def attention_backward(
    joint: np.ndarray, scale: float, heads: int, shares: np.ndarray, slopes: np.ndarray, out: np.ndarray
) -> None:
    """The slope with respect to ``joint``, still turned, from that of what ``mix_values`` wrote.

    Args:
        joint: As in ``share_keys``.
        scale: As there.
        heads: As there.
        shares: As it wrote them.
        slopes: float32 [rows, places, heads, size].
        out: Written, of the shape of ``joint``.
    """
    rows, places, total, size = joint.shape
    few = (total - heads) // 2
    of_shares = np.zeros(places, np.float32)
    out[:] = 0.0
    for r in range(rows):
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
