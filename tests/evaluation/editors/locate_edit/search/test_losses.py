"""Losses of reads and their slope are those of autograd over the formula."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evaluation.editors.locate_edit.search.losses import losses_of

GOALS, SHARES = torch.tensor([3, -1, 0, 10, -1]), torch.tensor([0.5, 1.0, 0.25, 0.125, 1.0])


def drawn(rows: int, seed: int = 0) -> Tensor:
    return 4 * torch.randn(rows, 11, generator=torch.Generator().manual_seed(seed))


def by_formula(logits: Tensor, goals: Tensor, essence: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    logprobs = logits.log_softmax(-1)
    wanted = logprobs[torch.arange(len(goals)), goals.clamp(min=0)]
    values = torch.where(goals < 0, 0.0, -wanted * SHARES[: len(goals)])
    divergence = torch.zeros_like(values)
    now = logprobs[essence]
    divergence[essence] = (now.exp() * (now - before)).sum(1)
    return values, divergence


@pytest.mark.parametrize("reads", [[1, 4], [4], []], ids=str)
@pytest.mark.parametrize("weights", [(1.0, 0.0625), (0.0, 1.0), (-2.0, 3.0)])
def test_values_and_slopes(reads: list[int], weights: tuple[float, float]) -> None:
    goals = torch.where(torch.isin(torch.arange(5), torch.tensor(reads)), GOALS, GOALS.abs())
    essence, before = torch.tensor(reads, dtype=torch.long), drawn(len(reads), 1).log_softmax(-1)
    logits = drawn(5).requires_grad_()
    exact = logits.detach().double().requires_grad_()
    with torch.enable_grad():
        got = losses_of(logits, goals, SHARES, essence, before)
        want = by_formula(exact, goals, essence, before.double())
        pulls = torch.arange(1, 6) * weights[0], torch.arange(5, 0, -1) * weights[1]
        (slope,) = torch.autograd.grad((got.values * pulls[0] + got.divergence * pulls[1]).sum(), logits)
        (right,) = torch.autograd.grad((want[0] * pulls[0] + want[1] * pulls[1]).sum(), exact)
    for mine, theirs in zip(got[:2], want, strict=True):
        assert torch.allclose(mine.double(), theirs, atol=1e-5)
    assert torch.allclose(slope.double(), right, atol=1e-5)
    assert bool(slope.any()) == bool(reads or weights[0])
    assert torch.allclose(got.now, logits.detach().log_softmax(-1)[essence]) and not got.now.requires_grad


def test_nothing_has_moved_where_nothing_was_known() -> None:
    logits = drawn(5).requires_grad_()
    with torch.enable_grad():
        got = losses_of(logits, GOALS, SHARES, torch.tensor([1, 4]), None)
        (slope,) = torch.autograd.grad(got.divergence.sum(), logits)
    assert not got.divergence.any() and not slope.any()


def test_what_blows_up_is_seen() -> None:
    logits = drawn(5)
    logits[0, 2], logits[4, 1] = float("nan"), float("inf")
    got = losses_of(logits, GOALS, SHARES, torch.tensor([1, 4]), drawn(2, 1).log_softmax(-1))
    assert got.values.isnan().tolist() == [True, False, False, False, False]
    assert got.divergence.isnan().tolist() == [False, False, False, False, True]
