"""Side memories: which one answers, by the formula; merging by TIES, by hand."""

from __future__ import annotations

import pytest
import torch

from evaluation.edits.side_memory import SideMemories, deviation, prompt_mean, ties


def test_the_memory_with_the_largest_deviation_of_those_that_reach_their_threshold() -> None:
    draws = torch.Generator().manual_seed(0)
    keys, out = torch.randn(6, 5, 4, generator=draws), torch.randn(6, 5, 3, generator=draws)
    changes, lengths = torch.randn(3, 3, 4, generator=draws), torch.tensor([1, 2, 3, 4, 5, 5])
    f = torch.nn.functional.silu
    d = [
        [float((f(out[r, :n] + keys[r, :n] @ c.T) - f(out[r, :n])).norm(dim=1).mean()) for c in changes]
        for r, n in enumerate(lengths.tolist())
    ]
    thresholds = torch.tensor(d).quantile(0.7, dim=0)
    memories = SideMemories("w.weight", changes, thresholds, "silu")
    want = [
        max((m for m in range(3) if row[m] >= float(thresholds[m]) - 1e-6), key=row.__getitem__, default=-1)
        for row in d
    ]
    chosen = memories.decide(keys, out, lengths)
    assert chosen.tolist() == want and {-1} < set(want)
    changed = memories.change(keys, out, lengths, chosen)
    assert torch.equal(changed, memories.change(keys, out, None, chosen)), "the answer's tokens go the prompt's way"
    for r, m in enumerate(want):
        assert torch.allclose(changed[r], out[r] + (keys[r] @ changes[m].T if m >= 0 else 0), atol=1e-6)
    alone = [int(memories.decide(keys[r : r + 1], out[r : r + 1], lengths[r : r + 1])) for r in range(6)]
    assert alone == want


def test_padding_and_answers_count_for_nothing() -> None:
    by_token = torch.tensor([[1.0, 3.0, 100.0], [2.0, 100.0, 100.0]])
    assert prompt_mean(by_token, torch.tensor([2, 1])).tolist() == [2.0, 2.0]
    assert deviation(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), "gelu").tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("changes", "density", "want"),
    [
        pytest.param([[4.0, -1.0, 0.0], [2.0, 3.0, 0.0]], 1.0, [3.0, 3.0, 0.0], id="agreeing ones are averaged"),
        pytest.param([[4.0, -5.0, 1.0], [2.0, 3.0, 1.0]], 1.0, [3.0, -5.0, 1.0], id="the heavier sign wins"),
        pytest.param([[4.0, -1.0, 2.0, 0.5], [1.0, 3.0, 2.0, 0.5]], 0.5, [4.0, 3.0, 2.0, 0.0], id="small ones go"),
        pytest.param([[2.0, -2.0], [-2.0, -2.0]], 1.0, [2.0, -2.0], id="a draw counts as positive"),
    ],
)
def test_ties(changes: list[list[float]], density: float, want: list[float]) -> None:
    parts = [torch.tensor([change]) for change in changes]
    before = [part.clone() for part in parts]
    assert ties(parts, density)[0].tolist() == pytest.approx(want)
    assert all(torch.equal(a, b) for a, b in zip(parts, before, strict=True))
