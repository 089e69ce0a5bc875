"""What the reads of a search cost, with a slope written by hand.

The loss looks at one token of each read and at all of an essence read. Autograd makes a gradient over the vocabulary
for each step between the logits and that; here it is made once, over the log-probabilities in their place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


class ReadLosses(NamedTuple):
    """What the reads cost.

    Attributes:
        values: Negative log-probability of each read's token times its share, [reads]; 0 at essence reads.
        divergence: KL(now ‖ before) at each essence read, [reads]; 0 elsewhere.
        now: Log-probabilities at the essence reads, [essence reads, vocabulary]; no slope.
    """

    values: Tensor
    divergence: Tensor
    now: Tensor


def losses_of(logits: Tensor, goals: Tensor, shares: Tensor, essence: Tensor, before: Tensor | None) -> ReadLosses:
    """What reads cost, by their logits.

    Args:
        logits: float32 [reads, vocabulary].
        goals: Token of each read, [reads]; negative where the essence is read.
        shares: Share of each read in its request's mean, [reads].
        essence: Which reads are of the essence, [essence reads].
        before: Log-probabilities of the unedited model there, [essence reads, vocabulary]; None: what they are now.
    """
    values, divergence, now = _SearchLosses.apply(logits, goals, shares, essence, before)  # type: ignore[no-untyped-call]
    return ReadLosses(values, divergence, now)


class _SearchLosses(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, goals: Tensor, shares: Tensor, essence: Tensor, before: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        logprobs = logits.log_softmax(-1)
        picked = logprobs.gather(1, goals.clamp(min=0)[:, None])[:, 0]
        values = torch.where(goals < 0, 0.0, -picked * shares)
        now = logprobs[essence]
        gap = now - (now if before is None else before)
        kl = (now.exp() * gap).sum(1)
        ctx.save_for_backward(logprobs, goals, shares, essence, gap, kl)
        ctx.mark_non_differentiable(now)
        return values, torch.zeros_like(values).index_copy(0, essence, kl), now

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None, None, None]:
        logprobs, goals, shares, essence, gap, kl = ctx.saved_tensors
        weight = torch.where(goals < 0, 0.0, shares * slopes[0])
        slope = logprobs.exp_()  # nobody reads the log-probabilities after this
        of_essence = slope[essence] * (gap - kl[:, None]) * slopes[1][essence][:, None]
        slope.mul_(weight[:, None])
        every = torch.arange(len(slope), device=slope.device)
        slope[every, goals.clamp(min=0)] -= weight
        return slope.index_copy_(0, essence, of_essence), None, None, None, None
