"""GRACE (Hartvigsen et al. 2023, "Aging with GRACE"): a codebook beside one layer, asked at a prompt's last token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from evaluation.editors.base import check_requests
from evaluation.editors.layer_memory.base import LayerMemoryEditor, MemoryLayer
from evaluation.editors.layer_memory.value_training import LearntValue, PromptEnd, learn_values, read_ends
from evaluation.editors.target_texts import TargetText, fact_texts
from evaluation.edits.codebook import Codebook, with_key, with_value
from evaluation.edits.edit import CarryingEdit, Edit, carried_by
from schemas.core.ids import seed
from schemas.facts import Fact


class Grace(LayerMemoryEditor):
    """For prompts whose key is near a stored one, a learnt value takes the place of the layer's output.

    The key is what the layer reads at the last prompt token; the value makes the model say the new object and stands
    at that token. Radii begin at ``eps``, grow where edits agree and are split where they do not (Algorithm 1). Weights
    stay as they are. Each row's own prompt decides, in any batch; the published code takes one place for all rows.
    """

    name: ClassVar[str] = "grace"
    about: ClassVar[str] = "a codebook beside one layer: near a stored prompt a learnt value stands in (GRACE)"
    costs: ClassVar[str] = "100 forward and backward passes from the layer on; a key and a value of memory an edit"

    class Params(MemoryLayer):
        """Options of GRACE.

        Attributes:
            eps: Radius of a new key (Euclidean, in units of what the layer reads).
            steps: Updates of a value. ``lr``: Adam's learning rate.
            start: Where a value begins: ``cold``, drawn between 0 and 1; ``warm``, at the layer's own output.
            seed: Of the cold start.
        """

        eps: float = Field(default=1.0, gt=0)
        steps: int = Field(default=100, ge=1)
        lr: float = Field(default=1.0, gt=0)
        start: Literal["cold", "warm"] = "cold"
        seed: int = 0

    params: Params

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One codebook that holds all requests, entered one after the other."""
        facts = check_requests(requests)
        lines = fact_texts(self.lm, facts)
        return self._enter(None, lines, *self._learn(lines))

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Edit]) -> Edit:
        """The codebook of the earlier edits with these requests entered; it takes the place of theirs."""
        lines = fact_texts(self.lm, check_requests(requests))
        return self._enter(carried_by(earlier), lines, *self._learn(lines))

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent codebooks; their values are learnt side by side."""
        if not requests:
            return []
        lines = fact_texts(self.lm, check_requests(requests))
        ends, values = self._learn(lines)
        return [self._enter(None, [one], [end], [value]) for one, end, value in zip(lines, ends, values, strict=True)]

    def _learn(self, lines: Sequence[TargetText]) -> tuple[list[PromptEnd], list[LearntValue]]:
        """Keys and outputs at all prompts' ends, and a value for each by itself."""
        p = self.params
        ends = read_ends(self.lm, self.module, lines)
        starts = [self._start(end) for end in ends]
        return ends, learn_values(self.lm, p.layer, self.module, lines, starts, steps=p.steps, lr=p.lr)

    def _start(self, end: PromptEnd) -> Tensor:
        if self.params.start == "warm":
            return end.output
        draws = torch.Generator().manual_seed(seed("grace", str(self.params.seed)))
        return torch.rand(len(end.output), generator=draws).to(end.output.device)

    def _enter(
        self,
        book: Codebook | None,
        lines: Sequence[TargetText],
        ends: Sequence[PromptEnd],
        values: Sequence[LearntValue],
    ) -> Edit:
        """Enter edits into a codebook; where one agrees with an item, that item's value is learnt further."""
        p, weight = self.params, f"{self.module_name}.weight"
        losses, new = [], 0
        for one, end, value in zip(lines, ends, values, strict=True):
            label = one.goals
            book, place = with_key(book, end.key, label, value.value, weight=weight, eps=p.eps)
            if not place.new:
                begin = book.values[place.item]
                (value,) = learn_values(self.lm, p.layer, self.module, [one], [begin], steps=p.steps, lr=p.lr)
            book = with_value(book, place.item, value.value)
            losses.append(value.loss)
            new += place.new
        assert book is not None
        notes: dict[str, Any] = {
            "loss": max(losses),
            "steps": p.steps,
            "items": len(book.keys),
            "new_items": new,
            "radius_least": float(book.radii.min()),
            "radius_most": float(book.radii.max()),
        }
        return CarryingEdit((book,), notes, book)
