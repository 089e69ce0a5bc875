"""Designs of samples: recorded probabilities are those with which scripts are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage.calibration_designs import equal_chances, unequal_chances


@pytest.mark.parametrize("sample", [equal_chances, unequal_chances])
def test_probabilities_are_true(sample) -> None:
    """Over many draws every script comes in as often as its probability says; weights sum to all scripts."""
    rng, judge = np.random.default_rng(4), np.array([2.0, 3.0, 4.0, 5.0, 6.0, 7.0] * 4)
    came, weight = np.zeros(24), []
    chances: dict[int, float] = {}
    for _ in range(400):
        indices = sample(rng, judge, 8)
        chances |= indices
        came[list(indices)] += 1
        weight.append(sum(1 / p for p in indices.values()))
    assert came / 400 == pytest.approx(np.array([chances[k] for k in range(24)]), abs=0.09)
    assert np.mean(weight) == pytest.approx(24, abs=1.5)


def test_unequal_chances_are_unequal() -> None:
    sample = unequal_chances(np.random.default_rng(1), np.array([1.0, 2.0, 6.0, 7.0] * 10), 20)
    assert len(set(sample.values())) == 2
