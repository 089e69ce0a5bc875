"""Side memories of one layer (WISE, Wang et al. 2024): copies of its weight that prompts in their scope are sent to.

How far a memory's output is from the layer's own, after the activation and on average over the prompt's tokens, says
whether a prompt is in its scope: d = mean |f(W'k) - f(Wk)|. Of the memories whose d reaches their threshold the one
with the largest answers, for the whole row; else the layer does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from transformers.activations import ACT2FN
from typing_extensions import override

from evaluation.edits.routed_deltas import RoutedDelta


@dataclass(frozen=True, eq=False)
class SideMemories(RoutedDelta):
    """Memories of one module, each with the least d at which it answers.

    Attributes:
        weight: Name of the module's weight parameter.
        changes: W' - W of every memory, [memories, out, in], float32.
        thresholds: [memories], float32.
        activation: Name of the model's activation f, as its configuration has it.
    """

    weight: str
    changes: Tensor
    thresholds: Tensor
    activation: str

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return self.changes.shape[1], self.changes.shape[2]

    @property
    @override
    def tensors(self) -> tuple[Tensor, ...]:
        return self.changes, self.thresholds

    @override
    def on(self, device: torch.device) -> SideMemories:
        return replace(self, changes=self.changes.to(device), thresholds=self.thresholds.to(device))

    def decide(self, keys: Tensor, out: Tensor, lengths: Tensor) -> Tensor:
        """The memory with the largest d of those that reach their threshold."""
        scores = torch.stack([self._scope(change, keys, out, lengths) for change in self.changes], 1)
        reached = torch.where(scores >= self.thresholds, scores, -torch.inf)
        best, item = reached.max(1)
        return torch.where(best > -torch.inf, item, -1)

    def _scope(self, change: Tensor, keys: Tensor, out: Tensor, lengths: Tensor) -> Tensor:
        moved = out.float() + keys.float() @ change.T
        return prompt_mean(deviation(moved, out, self.activation), lengths)

    def change(self, keys: Tensor, out: Tensor, lengths: Tensor | None, chosen: Tensor) -> Tensor:
        """The memory's output in every token of rows that are sent to one."""
        new = out.float()
        for n, change in enumerate(self.changes):
            new = torch.where((chosen == n)[:, None, None], out.float() + keys.float() @ change.T, new)
        return new.to(out.dtype)


def deviation(moved: Tensor, out: Tensor, activation: str) -> Tensor:
    """|f(W'k) - f(Wk)| of every token, [rows, positions].

    Args:
        moved: W'k, [rows, positions, out].
        out: Wk, of the same shape.
        activation: Name of f.
    """
    f = ACT2FN[activation]
    gaps: Tensor = (f(moved.float()) - f(out.float())).norm(dim=-1)
    return gaps


def prompt_mean(by_token: Tensor, lengths: Tensor) -> Tensor:
    """Means over each row's prompt tokens, which it begins with: [rows, positions] -> [rows]."""
    inside = torch.arange(by_token.shape[1], device=by_token.device) < lengths[:, None]
    return (by_token * inside).sum(1) / lengths


def ties(changes: Sequence[Tensor], density: float) -> Tensor:
    """Changes merged into one (TIES, Yadav et al. 2023): trimmed, signs elected, the agreeing ones averaged.

    Args:
        changes: Each [out, in].
        density: Share of each one's entries that is kept, the largest.

    Example:
        >>> ties([torch.tensor([[3.0, 1.0]]), torch.tensor([[-1.0, 1.0]])], 1.0)
        tensor([[3., 1.]])
    """
    trimmed = torch.stack([_largest(change, density) for change in changes])
    elected = torch.where(trimmed.sum(0) >= 0, 1.0, -1.0)
    agree = trimmed.sign() == elected
    return (trimmed * agree).sum(0) / agree.sum(0).clamp(min=1)


def _largest(change: Tensor, density: float) -> Tensor:
    count = max(1, int(density * change.numel()))
    if count >= change.numel():
        return change
    flat = change.flatten()
    kept = flat.abs().topk(count).indices
    return torch.zeros_like(flat).index_copy(0, kept, flat[kept]).reshape(change.shape)
