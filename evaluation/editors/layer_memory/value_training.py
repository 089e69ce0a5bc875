"""Values that stand in for a map's output at the end of a prompt: many learnt side by side, none touching another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.editors.locate_edit.readings import read_at
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.edits.routed_deltas import tell_prompts
from evaluation.inference.batching import default_budget, in_batches
from evaluation.models.devices import send
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.tokenization import TokenPosition


class PromptEnd(NamedTuple):
    """What a map reads and returns at a prompt's last token, float32: ``key`` [in], ``output`` [out]."""

    key: Tensor
    output: Tensor


class LearntValue(NamedTuple):
    """A value [out], float32, and the loss with it: mean negative log-probability of the target's tokens (nats)."""

    value: Tensor
    loss: float


class _Started(NamedTuple):
    line: TargetText
    start: Tensor


def read_ends(lm: LM, module: nn.Module, lines: Sequence[TargetText]) -> list[PromptEnd]:
    """What a layer's map reads and returns at the last prompt token of every line, routed changes left out."""
    with tell_prompts(lm.model, None):
        read = read_at(lm, module, [TokenPosition(line.ids, line.end) for line in lines])
    return [PromptEnd(key, output) for key, output in zip(*read, strict=True)]


def _ends(lm: LM, lines: Sequence[TargetText]) -> tuple[Tensor, Tensor]:
    """Row and place of every line's last prompt token."""
    return send(list(range(len(lines))), lm.device), send([one.end for one in lines], lm.device)


def learn_values(
    lm: LM,
    layer: int,
    module: nn.Module,
    lines: Sequence[TargetText],
    starts: Sequence[Tensor],
    *,
    steps: int,
    lr: float,
) -> list[LearntValue]:
    """Adam on the value that stands in for the map's output at each line's last prompt token.

    Args:
        lm: The model; routed changes on it are left out.
        layer: The block that holds the map.
        module: The map.
        lines: Prompts with their targets.
        starts: Where each value begins, [out].
        steps: Updates.
        lr: Learning rate.
    """
    jobs = [_Started(*pair) for pair in zip(lines, starts, strict=True)]
    run = partial(_learn, lm, layer, module, steps=steps, lr=lr)
    return in_batches(jobs, lambda job: len(job.line.ids), run, default_budget(lm, gradients=True))


def _learn(lm: LM, layer: int, module: nn.Module, jobs: list[_Started], *, steps: int, lr: float) -> list[LearntValue]:
    lines = [job.line for job in jobs]
    at = _ends(lm, lines)
    values = torch.stack([job.start for job in jobs]).clone().requires_grad_()
    optimiser = torch.optim.Adam([values], lr=lr)

    def put(_: Tensor, out: Tensor) -> Tensor:
        return out.index_put(at, values.to(out.dtype))

    with tell_prompts(lm.model, None), replace_output(module, put):
        rows = TargetBatch(lm, lines, layer)
        for _ in range(steps):
            with torch.enable_grad():
                (values.grad,) = torch.autograd.grad(rows.nll().sum(), values)
            optimiser.step()
        with torch.no_grad():
            losses = rows.nll().tolist()
    return [LearntValue(value, loss) for value, loss in zip(values.detach().clone(), losses, strict=True)]
