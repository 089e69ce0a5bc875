"""FT and FT+L: fine-tuning of MLP output projections on the new fact (ROME §3.4; Zhu et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from evaluation.editors.base import FactFormat
from evaluation.editors.fine_tuning.training import BatchTraining, Change, DenseChange
from evaluation.editors.target_texts import TargetText
from schemas.facts import Fact


class TrainedLayers(FactFormat):
    """``layer``: trained layer, from 0, or several of them."""

    layer: Annotated[int, Field(ge=0)] | Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class FineTuning(BatchTraining):
    """Adam on the projection's weight until the new object is likely after the fact prompt.

    As published, the loss takes every token of the new object at the *last prompt position*, so that an object of
    several tokens is learnt as a bag of first tokens. All requests of an edit are one batch.
    """

    name: ClassVar[str] = "ft"
    edits_mlp: ClassVar[bool] = True
    about: ClassVar[str] = "fine-tuning of one MLP weight, as published: all target tokens at the last prompt position"
    costs: ClassVar[str] = (
        "up to 25 forward and backward passes from the trained layer on; a change of the weight's size"
    )

    class Params(TrainedLayers):
        """Options of FT: which layers, and how they are trained.

        Attributes:
            steps: The most steps.
            lr: Adam's learning rate.
            stop_below: Mean loss (nats a token) below which no update is made and training ends.
        """

        steps: int = Field(default=25, ge=1)
        lr: float = Field(default=5e-4, gt=0)
        stop_below: float = 1e-2

    params: Params

    @property
    def bytes_an_edit(self) -> int:
        """A change of every entry of each trained weight, in float32."""
        return 4 * self.lm.layout.width * self.lm.layout.inner * len(self.edited_layers)

    def text(self, fact: Fact) -> TargetText:
        """The prompt, with all tokens of the new object to be predicted at its end."""
        encoded = self.lm.encode(fact.fact_prompt, fact.new_object.text)
        last = (encoded.first - 1,) * len(encoded.target)
        return TargetText(encoded.ids[: encoded.first], last, encoded.target)

    @override
    def changes(self, edits: int) -> list[Change]:
        return [DenseChange(self.lm, self.lm.layout.projection(layer), edits) for layer in self.edited_layers]

    @override
    def optimiser(self, factors: Sequence[Tensor]) -> torch.optim.Optimizer:
        return torch.optim.Adam(factors, lr=self.params.lr, fused=True)


class ConstrainedFineTuning(FineTuning):
    """FT with every entry of the weight kept within ``eps`` of where it was (an L∞ ball)."""

    name: ClassVar[str] = "ft_l"
    about: ClassVar[str] = "fine-tuning with every weight entry kept within eps of its old value (FT+L)"

    class Params(FineTuning.Params):
        """Options of FT+L: those of FT, and ``eps``, the greatest change of one entry."""

        eps: float = Field(gt=0)

    params: Params

    @override
    def bound(self) -> float | None:
        return self.params.eps
