"""Metrics of drawn correlation."""

from __future__ import annotations

import numpy as np

from curation.stats.bootstrap import Resampling

HOW = Resampling(400, seed=2)

METHODS = ("ft", "rome", "prompt")


def values(*, cases: int = 30, between: float = 0.0, within: float = 0.0, seed: int = 0):
    """Metric B follows A by ``within`` case by case; ``between`` adds the method's level to A and takes it from B."""
    rng = np.random.default_rng(seed)
    out = {"A": {}, "B": {}, "C": {}}
    for n, m in enumerate(METHODS):
        a, b, c = rng.normal(size=(3, cases))
        keys = [f"c{k}" for k in range(cases)]
        out["A"][m] = dict(zip(keys, a + between * n, strict=True))
        out["B"][m] = dict(zip(keys, within * a + b - between * n, strict=True))
        out["C"][m] = dict(zip(keys, c, strict=True))
    return out
