"""The loop of ``head_reading``: every row of a weight is brought from memory once, for values and slopes."""

from __future__ import annotations

import math

import numpy as np

PART = 256
"""Rows of the weight whose shares are added up in float32, before the sum goes into that in float64."""


def sum_exponentials(
    states: np.ndarray, weight: np.ndarray, largest: np.ndarray, total: np.ndarray, mean: np.ndarray
) -> None:
    """Sums over the rows w of a weight of exp(w·x - largest), and of the same times w, for each of a few states x.

    Args:
        states: float32 [states, width].
        weight: float32 [rows, width], contiguous.
        largest: The largest w·x, float32 [states]; written.
        total: Sums of exponentials, float64 [states]; written.
        mean: Sums of rows times exponentials, float64 [states, width]; written.
    """
    count, width = states.shape
    part = np.zeros((count, width), np.float32)
    mean[:] = 0.0
    total[:] = 0.0
    largest[:] = -np.inf
    for n in range(weight.shape[0]):
        row = weight[n]
        for s in range(count):
            state, own = states[s], part[s]
            logit = np.float32(0.0)
            for k in range(width):
                logit += state[k] * row[k]
            if logit > largest[s]:
                shrink = np.float32(math.exp(largest[s] - logit))
                total[s] *= shrink
                for k in range(width):
                    own[k] *= shrink
                    mean[s, k] *= shrink
                largest[s] = logit
            share = np.float32(math.exp(logit - largest[s]))
            total[s] += share
            for k in range(width):
                own[k] += share * row[k]
        if n % PART == PART - 1 or n == weight.shape[0] - 1:
            for s in range(count):
                for k in range(width):
                    mean[s, k] += part[s, k]
                    part[s, k] = 0.0
