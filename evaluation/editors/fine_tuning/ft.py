"""FT and FT+L: fine-tuning of an MLP output projection on the new fact (ROME §3.4; Zhu et al. 2020).

Independent edits train side by side, each with its own change of the weight: passes start at the trained layer from
hidden states read once, prompts stand several in a row, and a finished edit leaves the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field
from torch import Tensor

from evaluation.editors.base import Editor, by_size, check_requests
from evaluation.editors.fine_tuning.delta_training import DeltaTraining, TrainingBatch
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.batching import TokenBudget, in_batches
from evaluation.models.device_memory import least_free_bytes
from evaluation.models.packed_weights import packed_weights
from schemas.core.config import Options
from schemas.facts import Fact

CPU_BYTES = 2**30
"""Of memory for the changes in training and Adam's two averages of them, on a CPU."""

SHARE = 0.35
"""Of a CUDA device's free memory, for the same."""


class TrainedLayers(Options):
    """``layer``: trained layer, from 0, or several of them."""

    layer: Annotated[int, Field(ge=0)] | Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class FineTuning(Editor):
    """Adam on the projection's weight until the new object is likely after the fact prompt.

    As published, the loss takes every token of the new object at the *last prompt position*, so that an object of
    several tokens is learnt as a bag of first tokens. All requests of an edit are one batch.
    """

    name: ClassVar[str] = "ft"
    edits_mlp: ClassVar[bool] = True
    version: ClassVar[int] = 1
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
    shifted: ClassVar[bool] = False
    """Whether each token of the new object is predicted where it stands (FT-M), not at the last prompt position."""

    def bound(self) -> float | None:
        """How far any entry of the weight may move, or None for any distance."""
        return None

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One edit, trained on all requests together."""
        return self._train([list(check_requests(requests))])[0]

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits that train side by side, as many as memory holds."""
        if not requests:
            return []
        facts = check_requests(requests)
        order = sorted(range(len(facts)), key=lambda i: len(facts[i].fact_prompt))
        edits = in_batches([[facts[i]] for i in order], lambda _: 1, self._train, self._budget())
        return [edit for _, edit in sorted(zip(order, edits, strict=True), key=lambda pair: pair[0])]

    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """Groups of one size train side by side, as many as memory holds."""
        return by_size(groups, lambda some: in_batches(some, lambda _: 1, self._train, self._budget()))

    def _budget(self) -> TokenBudget:
        """How many edits train side by side."""
        lm = self.lm
        room, copies = CPU_BYTES, 4  # change, slope, two averages
        if lm.device.type == "cuda":  # and most of them once more for a moment, when finished edits leave
            room, copies = int(SHARE * least_free_bytes(lm.devices)), 7
        return TokenBudget(max(1, room // (copies * self.bytes_an_edit)), unit="edits")

    @property
    def bytes_an_edit(self) -> int:
        """A change of every entry of each trained weight, in float32."""
        return 4 * self.lm.layout.width * self.lm.layout.inner * len(self.edited_layers)

    @classmethod
    def layers_of(cls, params: Params) -> tuple[int, ...]:
        """Trained layers in order."""
        layer = params.layer
        return (layer,) if isinstance(layer, int) else tuple(sorted(set(layer)))

    def _train(self, groups: list[list[Fact]]) -> list[Edit]:
        """One edit a group; groups are of one size."""
        with packed_weights(self.lm):
            return self._train_side_by_side(groups)

    def _train_side_by_side(self, groups: list[list[Fact]]) -> list[Edit]:
        p, bound = self.params, self.bound()
        batch = TrainingBatch.read(self.lm, groups, self.edited_layers, shifted=self.shifted)
        training = DeltaTraining(self.lm, batch, self.edited_layers, lr=p.lr)
        edits: dict[int, Edit] = {}
        for step in range(p.steps + 1):
            losses = training.evaluate() if step < p.steps else training.losses
            for n, (group, loss) in enumerate(zip(training.groups, losses, strict=True)):
                if group not in edits and (loss < p.stop_below or step == p.steps):
                    edits[group] = self._make_edit(training.changes(n), loss=loss, steps=step)
            if len(edits) == len(groups):
                break
            training.drop({n for n, group in enumerate(training.groups) if group in edits})
            training.update(bound)
        return [edits[n] for n in range(len(groups))]

    def _make_edit(self, values: list[Tensor], *, loss: float, steps: int) -> WeightEdit:
        lm = self.lm
        changes = [DenseDelta(lm.layout.weight(n), v) for n, v in zip(self.edited_layers, values, strict=True)]
        sizes = [float(lm.projection(n).weight.float().norm()) for n in self.edited_layers]  # type: ignore[operator]
        ratio = max(change.norm() / size for change, size in zip(changes, sizes, strict=True))
        notes: dict[str, Any] = {"loss": loss, "steps": steps, "norm_ratio": ratio, "blow_up": not ratio <= 1.0}
        return WeightEdit(tuple(changes), notes)


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
