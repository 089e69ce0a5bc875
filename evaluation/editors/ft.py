"""FT and FT+L: fine-tuning of one layer's MLP output projection on the new fact (ROME §3.4; Zhu et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from evaluation.deltas import DenseDelta
from evaluation.editors.base import Editor, asked, new_object
from evaluation.edits import Edit, WeightEdit
from evaluation.hooks import changing
from schemas.config import Options
from schemas.facts import Fact


class FineTuning(Editor):
    """Adam on the projection's weight until the new object is likely after the fact prompt.

    As published, the loss takes every token of the new object at the *last prompt position*, so that an object of
    several tokens is learnt as a bag of first tokens. All requests of an edit are one batch.
    """

    name: ClassVar[str] = "ft"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "fine-tuning of one MLP weight, as published: all target tokens at the last prompt position"

    class Params(Options):
        """Options of FT.

        Attributes:
            layer: Trained layer, from 0.
            steps: The most steps. ``lr``: Adam's learning rate.
            stop_below: Mean loss (nats a token) below which no update is made and training ends.
        """

        layer: int = Field(ge=0)
        steps: int = Field(default=25, ge=1)
        lr: float = Field(default=5e-4, gt=0)
        stop_below: float = 1e-2

    params: Params

    def bound(self) -> float | None:
        """How far any entry of the weight may move, or None for any distance."""
        return None

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One edit, trained on all requests together."""
        lm, p = self.lm, self.params
        batch = self._batch(asked(requests))
        projection = lm.projection(p.layer)
        delta = torch.zeros(lm.layout.width, lm.layout.inner, device=lm.device, requires_grad=True)
        optimiser = torch.optim.Adam([delta], lr=p.lr)
        bound = self.bound()
        loss, steps = torch.zeros(()), 0

        def add(keys: Tensor, out: Tensor) -> Tensor:
            return (out.float() + keys.float() @ delta.T).to(out.dtype)

        with torch.enable_grad(), changing(projection, add):
            for _ in range(p.steps):
                logprobs = lm.logits_at(batch.ids, batch.mask, batch.rows, batch.places).log_softmax(-1)
                each = logprobs.gather(1, batch.goals) * batch.real
                loss = -(each.sum(1) / batch.real.sum(1)).mean()
                if loss < p.stop_below:
                    break
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                steps += 1
                if bound is not None:
                    with torch.no_grad():
                        delta.clamp_(-bound, bound)
        change = DenseDelta(lm.layout.weight(p.layer), delta.detach())
        return WeightEdit((change,), self._notes(change, loss=float(loss.detach()), steps=steps))

    def _notes(self, change: DenseDelta, *, loss: float, steps: int) -> dict[str, Any]:
        weight = self.lm.projection(self.params.layer).weight
        assert isinstance(weight, Tensor)
        ratio = change.norm() / float(weight.float().norm())
        return {"loss": loss, "steps": steps, "norm_ratio": ratio, "blow_up": not ratio <= 1.0}

    def _batch(self, requests: Sequence[Fact]) -> _Batch:
        lm = self.lm
        texts = [lm.encode(fact.fact_prompt, new_object(fact)) for fact in requests]
        ids, mask = lm.pad([t.ids[: t.first] for t in texts])
        goals, real = lm.pad([t.target for t in texts])
        return _Batch(ids, mask, list(range(len(texts))), [t.first - 1 for t in texts], goals, real)


class ConstrainedFineTuning(FineTuning):
    """FT with every entry of the weight kept within ``eps`` of where it was (an L∞ ball)."""

    name: ClassVar[str] = "ft_l"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "fine-tuning with every weight entry kept within eps of its old value (FT+L)"

    class Params(FineTuning.Params):
        """Options of FT+L: those of FT, and ``eps``, the greatest change of one entry."""

        eps: float = Field(gt=0)

    params: Params

    def bound(self) -> float | None:
        """``eps``."""
        return self.params.eps


class _Batch(NamedTuple):
    ids: Tensor
    mask: Tensor
    rows: list[int]
    places: list[int]
    goals: Tensor  # [requests, most tokens]; ``real`` is 1 where a token stands
    real: Tensor
