"""Edits that train the model's own weights, and exist only while they are on: any weights, norms and embeddings too.

Training happens when the edit is applied, and the weights come back from a copy when it is reverted: one
edit is in memory at a time, however many a run makes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.editors.base import DIVERGENCE_RATIO, Editor, check_requests
from evaluation.editors.fine_tuning.training import CutTexts
from evaluation.edits.edit import Edit
from evaluation.edits.weight_deltas import put_back
from evaluation.models.devices import available_bytes
from evaluation.models.language_model import LM
from schemas.cases import EditRequest
from schemas.core.config import Options
from schemas.core.errors import ModelError, UserError

TRAINING_BYTES = 16
"""Bytes that training a weight takes beside it, in float32: a copy to put back, its gradient, AdamW's two moments."""

Training = Callable[[LM, Sequence[torch.nn.Parameter]], dict[str, Any]]
"""Trains weights of a model in place, which take gradients by then; returns what is to be noted."""


class WeightScope(Options):
    """Which weights are trained.

    Attributes:
        scope: What is trained: ``all`` weights, whole ``blocks``, or the output projections of ``mlps``.
        layers: Which blocks, from 0, where not all are trained; empty: all of them.
    """

    scope: Literal["all", "blocks", "mlps"] = "all"
    layers: tuple[Annotated[int, Field(ge=0)], ...] = ()

    def weights(self, lm: LM) -> list[torch.nn.Parameter]:
        """The parameters that are trained, each once (the head may share the embedding's)."""
        if self.scope == "all":
            return list(lm.model.parameters())
        layers = self.layers or range(lm.layout.depth)
        modules = [lm.block(n) if self.scope == "blocks" else lm.projection(n) for n in layers]
        return [p for module in modules for p in module.parameters()]


class WeightTraining(Editor):
    """A method that trains the model's own weights when its edit is applied; its options have a ``WeightScope``."""

    def __init__(self, params: Any, lm: LM, cache: Cache) -> None:
        super().__init__(params, lm, cache)
        if params.scope == "all" and params.layers:
            raise UserError(
                "scope 'all' trains every weight, so it takes no layers",
                where=f"options of '{self.name}'",
                fix='set scope = "blocks" or "mlps"',
            )
        refuse_too_little_memory(self.name, params.weights(lm))
        self._cut = CutTexts(self.name, lm)

    @property
    def bytes_an_edit(self) -> int:
        """Nothing until it is applied."""
        return 0

    @abstractmethod
    def training(self, requests: Sequence[Any]) -> Training:
        """What trains all requests together."""

    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        """An edit that trains when it is applied.

        Raises:
            ModelError: weights so narrow that the changes would be rounded away.
        """
        if self.lm.dtype != torch.float32:
            raise ModelError(
                f"'{self.name}' trains the weights themselves, and changes of this size are rounded away in "
                f"{str(self.lm.dtype).removeprefix('torch.')}",
                where=self.lm.name,
                fix='set dtype = "float32"',
            )
        return TrainedWhenPutOn(self.params, self.training(check_requests(requests)))


def refuse_too_little_memory(method: str, weights: Sequence[Tensor]) -> None:
    """Refuse a training whose copies, gradients and moments do not fit beside the weights; passes need more.

    Raises:
        UserError: says how much is needed and how much there is.
    """
    needed: Counter[torch.device] = Counter()
    for weight in weights:
        needed[weight.device] += TRAINING_BYTES * weight.numel()
    for device, least in needed.items():
        free = available_bytes(device)
        if free < least:
            count = sum(weight.numel() for weight in weights)
            raise UserError(
                f"'{method}' would train {count:,} weights, which needs {least / 2**30:.1f} GiB beside the model on "
                f"{device}, where {free / 2**30:.1f} GiB are free",
                where=f"options of '{method}'",
                fix='train less (scope = "blocks" or "mlps", with layers), or take a smaller model or another device',
            )


@dataclass(frozen=True)
class TrainedWhenPutOn(Edit):
    """An edit whose weights exist only while it is on; ``notes`` are complete once it has been."""

    scope: WeightScope
    train: Training
    notes: dict[str, Any] = field(default_factory=dict)

    deltas = None  # it shares no batch

    @contextmanager
    def on(self, lm: LM) -> Iterator[LM]:
        """Train, lend the model, and put every trained weight back bit for bit."""
        weights = self.scope.weights(lm)
        copies = [weight.detach().clone() for weight in weights]
        try:
            self.notes.update(self._trained(lm, weights, copies))
            yield lm
        finally:
            for weight in weights:
                weight.requires_grad_(False)
                weight.grad = None
            put_back(list(zip(weights, copies, strict=True)))

    def _trained(self, lm: LM, weights: Sequence[torch.nn.Parameter], before: Sequence[Tensor]) -> dict[str, Any]:
        """Train; what is noted of it, with the greatest change of a weight over its norm."""
        for weight in weights:
            weight.requires_grad_(True)
        notes = self.train(lm, weights)
        for weight in weights:
            weight.requires_grad_(False)
        with torch.no_grad():
            sizes = [(float((w - b).norm()), float(b.norm())) for w, b in zip(weights, before, strict=True)]
        ratio = max((change / size for change, size in sizes if size), default=0.0)
        return {**notes, "norm_ratio": ratio, "blow_up": not ratio <= DIVERGENCE_RATIO}
