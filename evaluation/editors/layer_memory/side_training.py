"""How a side memory learns one edit: the new object in several contexts, and activations parted from unrelated ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.editors.locate_edit.context_templates import fill
from evaluation.editors.target_texts import TargetBatch, TargetText, target_text
from evaluation.edits.routed_deltas import tell_prompts
from evaluation.edits.side_memory import deviation, prompt_mean
from evaluation.models.devices import send
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Fact

SETTLED, LOW = 1e-4, 0.02
"""Training ends where the loss is below ``LOW`` and moved by no more than ``SETTLED`` (published)."""


class SideSettings(NamedTuple):
    """How a memory learns: see the options of WISE."""

    steps: int
    lr: float
    bound: float
    alpha: float
    beta: float
    gamma: float
    activation: str


class SideOutcome(NamedTuple):
    """What came of it.

    Attributes:
        loss: With the margins. ``nll``: of the new object's tokens, mean over contexts (nats).
        inside: d of the edit's prompts, mean over contexts. ``outside``: d of the unrelated prompt.
        steps: Updates.
    """

    loss: float
    nll: float
    inside: float
    outside: float
    steps: int


class _Losses(NamedTuple):
    total: Tensor
    nll: Tensor
    inside: Tensor
    outside: Tensor


class SideTraining:
    """One edit to be learnt by a memory.

    Args:
        lm: The model; routed changes on it are left out.
        layer: The block that holds the map.
        module: The map whose copy learns.
        fact: The edit.
        contexts: Context templates.
        unrelated: A prompt that is to stay as it is.
        settings: How it learns.

    Raises:
        UserError: a prompt cannot be read.
    """

    def __init__(
        self,
        lm: LM,
        layer: int,
        module: nn.Module,
        fact: Fact,
        contexts: Sequence[str],
        unrelated: str,
        settings: SideSettings,
    ) -> None:
        self.lm, self.module, self.settings = lm, module, settings
        targets = [target_text(lm, fill(text, fact.fact_prompt), fact.new_object.text) for text in contexts]
        lines = [one for one in targets if one is not None]
        other = lm.token_ids(unrelated)
        if not lines or len(other) < 2:
            raise UserError("the fact prompt or the unrelated prompt cannot be read", where=fact.key)
        self.edits = len(lines)  # rows of the edit; the unrelated prompt is the last one
        with tell_prompts(lm.model, None):
            self.rows = TargetBatch(lm, [*lines, TargetText(other, (), ())], layer)
        self.lengths = send([*(one.end + 1 for one in lines), len(other)], lm.device)

    def run(self, begun: Tensor | None, part: Tensor) -> tuple[Tensor, SideOutcome]:
        """The memory's change after learning, [out, in], float32.

        Args:
            begun: Its change before; None: it is the layer's weight.
            part: Which entries may change, of the same shape.
        """
        s, change = self.settings, torch.zeros_like(part) if begun is None else begun.clone()
        change.requires_grad_()
        before, steps = float("inf"), 0
        for step in range(s.steps):
            with torch.enable_grad():
                losses = self._losses(change)
                (slope,) = torch.autograd.grad(losses.total, change)
            now = float(losses.total.detach())
            if abs(now - before) <= SETTLED and now <= LOW:
                break
            before, steps = now, step + 1
            with torch.no_grad():
                change.sub_(s.lr * slope * part).clamp_(-s.bound, s.bound)
        with torch.no_grad():
            total, of_target, inside, outside = torch.stack([part.sum() for part in self._losses(change)]).tolist()
        return change.detach(), SideOutcome(total, of_target, inside, outside, steps)

    def _losses(self, change: Tensor) -> _Losses:
        s = self.settings
        scope: list[Tensor] = []

        def through(keys: Tensor, out: Tensor) -> Tensor:
            moved = out.float() + keys.float() @ change.T
            scope.append(prompt_mean(deviation(moved, out, s.activation), self.lengths))
            return moved.to(out.dtype)

        with tell_prompts(self.lm.model, None), replace_output(self.module, through):
            by_row = self.rows.nll()[: self.edits]  # the unrelated prompt has no target
        inside, outside = scope[-1][: self.edits], scope[-1][self.edits :]
        margins = (outside - inside + s.gamma, outside - s.alpha, s.beta - inside)
        total = by_row.mean() + torch.stack([_positive_mean(margin) for margin in margins]).sum()
        return _Losses(total, by_row.mean(), inside.mean(), outside.mean())


def _positive_mean(values: Tensor) -> Tensor:
    """Mean of those above zero; 0 where none is."""
    above = values > 0
    return (values * above).sum() / above.sum().clamp(min=1)
