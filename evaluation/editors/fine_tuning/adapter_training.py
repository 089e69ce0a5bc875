"""Adapters of many independent edits trained side by side: each row of a pass under its own edit's adapters.

Training one edit after the other with peft's adapters in the model (``Lora.edit``) is the slow twin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.inference.passes import logits_at
from evaluation.models.hooks import home_of, replace_output
from evaluation.models.language_model import LM
from evaluation.models.tokens.tokenization import EncodedPrompt
from evaluation.models.transfers import send


class AdapterStart(NamedTuple):
    """Where every edit's adapter of one map starts: ``down`` [rank, in], ``up`` [out, rank], both float32.

    What is added to the map's output is ``scale`` times up·down·input.
    """

    down: Tensor
    up: Tensor
    scale: float


class TrainedAdapters(NamedTuple):
    """An edit's factors by map, [out, rank] (with the scale) and [in, rank]; its loss in nats a token, its updates."""

    factors: dict[str, tuple[Tensor, Tensor]]
    loss: float
    steps: int


class AdapterTraining:
    """Training of some edits' adapters with AdamW; the model is not changed.

    Args:
        lm: The model.
        texts: Prompt and new object of each edit.
        start: Adapters by the full name of their map; all edits start alike.
        lr: Learning rate.
        weight_decay: AdamW's.
    """

    def __init__(
        self,
        lm: LM,
        texts: Sequence[EncodedPrompt],
        start: Mapping[str, AdapterStart],
        *,
        lr: float,
        weight_decay: float,
    ) -> None:
        self.lm, self.start, self.lr, self.decay = lm, start, lr, weight_decay
        self.edits, self.texts = list(range(len(texts))), list(texts)
        count = len(texts)
        self.down = {name: _copies(one.down, count, home_of(lm.module(name))) for name, one in start.items()}
        self.up = {name: _copies(one.up, count, home_of(lm.module(name))) for name, one in start.items()}
        self.optimiser = self._optimiser()
        self._place()

    def run(self, *, steps: int, stop_below: float) -> list[TrainedAdapters]:
        """Every edit's adapters after its last update, in the order of the texts.

        Args:
            steps: The most updates.
            stop_below: Loss below which an edit is not updated any more.
        """
        done: dict[int, TrainedAdapters] = {}
        for step in range(steps + 1):
            losses = self._losses(slopes=step < steps)
            for n, (edit, loss) in enumerate(zip(self.edits, losses, strict=True)):
                if edit not in done and (loss < stop_below or step == steps):
                    done[edit] = TrainedAdapters(self._factors(n), loss, step)
            if len(done) == len(self.texts):
                break
            self._drop({n for n, edit in enumerate(self.edits) if edit in done})
            self.optimiser.step()
        return [done[n] for n in range(len(self.texts))]

    def _optimiser(self) -> torch.optim.AdamW:
        trained = [*self.down.values(), *self.up.values()]
        return torch.optim.AdamW(trained, lr=self.lr, weight_decay=self.decay)

    def _place(self) -> None:
        """Ids, places and goals of the edits still in training."""
        lm, texts = self.lm, [self.texts[edit] for edit in self.edits]
        self.ids, self.mask = lm.pad([t.ids[:-1] for t in texts])
        self.rows, self.places, self.goals = send(
            [
                [n for n, t in enumerate(texts) for _ in t.target],
                [i - 1 for t in texts for i in range(t.first, len(t.ids))],
                [token for t in texts for token in t.target],
            ],
            lm.device,
        )
        self.share = send(torch.tensor([1 / len(t.target) for t in texts for _ in t.target]), lm.device)

    def _losses(self, *, slopes: bool) -> list[float]:
        """Every edit's mean loss; leaves the slopes on the adapters where they are wanted."""
        self.optimiser.zero_grad()
        with torch.set_grad_enabled(slopes), ExitStack() as hooks:
            for name in self.start:
                hooks.enter_context(replace_output(self.lm.module(name), partial(self._added, name)))
            logits = logits_at(self.lm, self.ids, self.mask, self.rows, self.places)
            each = logits.log_softmax(-1).gather(1, self.goals[:, None])[:, 0] * self.share
            spread = torch.zeros(len(self.edits), len(self.rows), device=each.device)
            spread[self.rows, torch.arange(len(self.rows), device=each.device)] = -1.0  # a sum in a fixed order
            losses = spread @ each
            if slopes:
                losses.sum().backward()  # type: ignore[no-untyped-call]
        values: list[float] = losses.tolist()
        return values

    def _added(self, name: str, inputs: Tensor, output: Tensor) -> Tensor:
        inner = torch.bmm(inputs.float(), self.down[name].transpose(1, 2))
        return (output.float() + self.start[name].scale * torch.bmm(inner, self.up[name].transpose(1, 2))).to(
            output.dtype
        )

    def _factors(self, n: int) -> dict[str, tuple[Tensor, Tensor]]:
        device = self.lm.device
        return {
            name: (
                (self.up[name].detach()[n] * one.scale).to(device),
                self.down[name].detach()[n].T.contiguous().to(device),
            )
            for name, one in self.start.items()
        }

    def _drop(self, ended: set[int]) -> None:
        """Take finished edits out, once they are many enough to be worth the copying of the others."""
        if len(ended) * 4 < len(self.edits):
            return
        keep = [n for n in range(len(self.edits)) if n not in ended]
        self.edits = [self.edits[n] for n in keep]
        old = self.optimiser
        for side in (self.down, self.up):
            for name, tensor in side.items():
                kept_rows = send(keep, tensor.device)
                side[name] = smaller = tensor.detach()[kept_rows].requires_grad_()
                assert tensor.grad is not None
                smaller.grad = tensor.grad[kept_rows]
                old.state[smaller] = {
                    k: v[kept_rows] if v.shape == tensor.shape else v for k, v in old.state.pop(tensor, {}).items()
                }
        self.optimiser = self._optimiser()
        for tensor in (*self.down.values(), *self.up.values()):
            if old.state[tensor]:
                self.optimiser.state[tensor] = old.state[tensor]
        self._place()


def _copies(factor: Tensor, count: int, device: torch.device) -> Tensor:
    """A factor for each edit, [edits, ...], ready to be trained."""
    return factor.detach().to(device).float().expand(count, *factor.shape).clone().requires_grad_()
