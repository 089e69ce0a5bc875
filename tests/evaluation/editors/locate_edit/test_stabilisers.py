"""Every stabiliser against its formula written plainly, on dense matrices."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest
import torch

from evaluation.editors.locate_edit.stabilisers import (
    anchored,
    damping,
    rectified,
    shielded,
    shielded_directions,
)
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta, joint

DRAW = torch.Generator().manual_seed(3)
WEIGHT = torch.randn(6, 9, generator=DRAW)


def low(rank: int, scale: float = 1.0) -> LowRankDelta:
    return LowRankDelta("w", scale * torch.randn(6, rank, generator=DRAW), torch.randn(9, rank, generator=DRAW))


def dense(scale: float = 1.0) -> DenseDelta:
    return DenseDelta("w", scale * torch.randn(6, 9, generator=DRAW))


@pytest.mark.parametrize("share", [0.4, 1.0, 0.001])
@pytest.mark.parametrize("delta", [low(2), dense()], ids=["low", "dense"])
def test_rect_keeps_the_relatively_largest_entries(delta: LowRankDelta | DenseDelta, share: float) -> None:
    change, kept = delta.matrix().numpy(), max(1, int(share * 54))
    order = sorted(np.ndindex(6, 9), key=lambda at: -abs(change[at] / (float(WEIGHT[at]) + 1e-8)))
    want = np.zeros((6, 9), dtype=np.float32)
    for at in order[:kept]:
        want[at] = change[at]
    value = rectified(delta, WEIGHT, share=share).value.numpy()
    assert np.array_equal(value, want) and np.count_nonzero(value) == kept


def test_sphere_takes_half_of_what_lies_along_the_main_directions() -> None:
    rows = WEIGHT.double().numpy()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, sizes, v = np.linalg.svd(rows)
    parts = sizes**2 / (sizes**2).sum()
    count = next(n for n in range(1, 7) if parts[:n].sum() >= 0.5)
    directions = shielded_directions(WEIGHT)
    assert directions.shape == (9, count) and 1 < count < 6
    np.testing.assert_allclose((directions @ directions.T).numpy(), v[:count].T @ v[:count], atol=1e-10)
    for delta in (low(2), dense()):
        want = delta.matrix().double().numpy() @ (np.eye(9) - 0.5 * v[:count].T @ v[:count])
        out = shielded(delta, directions)
        assert type(out) is type(delta), "what is low-rank stays low-rank"
        np.testing.assert_allclose(out.matrix().numpy(), want, atol=1e-5)


def test_sphere_of_equal_rows_and_of_rows_of_zeros() -> None:
    equal = shielded_directions(torch.ones(4, 3))
    assert equal.shape == (3, 1) and torch.allclose(equal.abs(), torch.full((3, 1), 3**-0.5, dtype=torch.float64))
    assert shielded_directions(torch.zeros(4, 3)).isfinite().all()


LARGE = [[low(2, 3.0)], [low(1), low(2, 9.0)], [dense(4.0)], [low(1, 5.0), dense()]]


@pytest.mark.parametrize("changes", LARGE, ids=["low", "lows", "dense", "both"])
def test_prune_damps_singular_values_above_the_weights_largest(changes: list[LowRankDelta | DenseDelta]) -> None:
    most = np.linalg.svd(WEIGHT.double().numpy())[1][0]
    u, sizes, v = np.linalg.svd(sum(c.matrix().double() for c in changes).numpy(), full_matrices=False)
    assert sizes[0] > most, "there is something to damp"
    kept = [s if s <= most else math.log(s, 1.2) - math.log(most, 1.2) + most for s in sizes]
    found = damping(reduce(joint, changes), WEIGHT)
    assert found is not None and found.left.shape[1] == sum(s > most for s in sizes)
    total = sum(c.matrix() for c in [*changes, found]).numpy()
    np.testing.assert_allclose(total, u @ np.diag(kept) @ v, atol=2e-4)


def test_prune_leaves_small_changes_alone() -> None:
    assert damping(low(2, 1e-3), WEIGHT) is None and damping(dense(1e-3), WEIGHT) is None
    assert damping(LowRankDelta("w", torch.zeros(6, 1), torch.zeros(9, 1)), WEIGHT) is None


def test_nas_scales_to_the_mean_and_skips_what_is_twice_as_long() -> None:
    out = anchored(torch.tensor([[3.0, 4.0], [0.5, 0.0], [6.0, 8.1], [6.0, 8.0], [0.0, 0.0]]), 5.0)
    assert out.values.norm(dim=1).tolist() == pytest.approx([5, 5, 5, 5, 0])
    assert out.skipped.tolist() == [False, False, True, False, False]
    assert torch.allclose(out.values[1], torch.tensor([5.0, 0.0]))
