"""LoRA (Hu et al. 2022) as an edit: adapters of peft trained on the new fact, then read out as low-rank changes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from typing_extensions import override

from curation.files.artifact_cache import Cache
from evaluation.editors.base import FactFormat
from evaluation.editors.fine_tuning.training import BatchTraining, Change, CutTexts, LowRankChange
from evaluation.editors.target_texts import TargetText
from evaluation.edits.edit import WeightEdit
from evaluation.models.language_model import LM
from evaluation.models.layout import linear_shape, maps_beside_experts
from schemas.core.errors import MissingPackage, UserError
from schemas.documents.document import Document
from schemas.facts import Fact


class Lora(BatchTraining):
    """Trains adapters beside linear maps until the new objects are likely after their fact prompts.

    The loss is that of language modelling on the new object's tokens, the prompt masked; of a document on all its
    tokens but the first. Adapters stand in the model only while they are trained; the edit is their product as data.
    """

    name: ClassVar[str] = "lora"
    takes: ClassVar[tuple[str, ...]] = ("fact", "document")
    about: ClassVar[str] = "low-rank adapters trained on the new fact (LoRA, by peft)"
    needs: ClassVar[str] = "the package peft"
    costs: ClassVar[str] = "a forward and backward pass through the model for every step"

    class Params(FactFormat):
        """Options of LoRA.

        Attributes:
            rank: Rank r of every adapter.
            alpha: The adapter's product is scaled by alpha / rank.
            layers: Blocks that get adapters, from 0; None: all.
            modules: Names of linear maps inside a block, or the ends of such names ("q_proj"); None: the MLP's output
                projection, or in a mixture of experts every map into the residual beside it (of the attention).
            steps: The most steps.
            lr: AdamW's learning rate.
            weight_decay: AdamW's.
            stop_below: Mean loss (nats a token) below which no update is made and training ends.
            seed: Of the adapters' start.
        """

        rank: int = Field(default=8, ge=1)
        alpha: float = Field(default=32.0, gt=0)
        layers: tuple[int, ...] | None = None
        modules: tuple[str, ...] | None = None
        steps: int = Field(default=70, ge=1)
        lr: float = Field(default=5e-3, gt=0)
        weight_decay: float = Field(default=0.0, ge=0)
        stop_below: float = 1e-2
        seed: int = 0

        @field_validator("layers")
        @classmethod
        def _layers(cls, layers: tuple[int, ...] | None) -> tuple[int, ...] | None:
            if layers is not None and (not layers or len(set(layers)) < len(layers) or min(layers) < 0):
                raise ValueError("name at least one layer, each once, from 0")
            return layers

    params: Params

    def __init__(self, params: Any, lm: LM, cache: Cache) -> None:
        super().__init__(params, lm, cache)
        self._cut = CutTexts(self.name, lm)
        self._names()  # maps and layers that there are not are refused before any edit

    @property
    def bytes_an_edit(self) -> int:
        """Both factors of every adapter in float32, and the copy of them that rows of a batch read."""
        weights = [self.lm.module(name) for name in self._names()]
        return 2 * 4 * self.params.rank * sum(sum(linear_shape(w) or ()) for w in weights)

    def text(self, request: Fact | Document) -> TargetText:
        """A fact's prompt with its new object to be predicted; a document with all its tokens but the first.

        Raises:
            UserError: a document of one token.
        """
        if isinstance(request, Fact):
            encoded = self.lm.encode(request.fact_prompt, request.new_object.text)
            return TargetText.shifted(encoded.ids, encoded.first)
        ids = self.lm.token_ids(request.text)
        if len(ids) < 2:
            raise UserError("a document of one token leaves nothing to learn", where=request.key)
        return TargetText.shifted(tuple(ids[: self.lm.limit]), 1)

    @override
    def optimiser(self, factors: Sequence[Tensor]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(factors, lr=self.params.lr, weight_decay=self.params.weight_decay, fused=True)

    def make_edits(self, groups: Sequence[Sequence[Any]]) -> list[WeightEdit]:
        """Their notes count documents that are longer than the model reads."""
        cuts = [self._cut.note([one.text for one in group if isinstance(one, Document)]) for group in groups]
        edits = zip(super().make_edits(groups), cuts, strict=True)
        return [replace(edit, notes={**edit.notes, **cut}) for edit, cut in edits]

    def changes(self, edits: int) -> list[Change]:
        """Adapters of all maps, for each edit, as peft starts them; they are never part of the model."""
        try:
            from peft import LoraConfig, inject_adapter_in_model
        except ModuleNotFoundError:
            raise MissingPackage("peft", extra="eval") from None
        p, lm, names = self.params, self.lm, self._names()
        alpha: Any = p.alpha  # peft's type says int, its arithmetic takes any number
        maps = nn.ModuleDict({str(n): lm.module(name) for n, name in enumerate(names)})
        config = LoraConfig(r=p.rank, lora_alpha=alpha, target_modules=list(maps), lora_dropout=0.0, bias="none")
        devices = [device.index or 0 for device in lm.devices if device.type == "cuda"]
        with torch.random.fork_rng(devices), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peft tells users of Conv1D what it does by itself
            torch.manual_seed(p.seed)
            adapters: Any = inject_adapter_in_model(config, maps, "edit")
        starts = [(adapter.lora_A["edit"].weight, adapter.lora_B["edit"].weight) for adapter in adapters.values()]
        scale = p.alpha / p.rank
        return [
            LowRankChange(lm, name, edits, start=start, scale=scale) for name, start in zip(names, starts, strict=True)
        ]

    def _names(self) -> list[str]:
        """Full names of the maps that get adapters, in the model's order.

        Raises:
            ModelError: a layer that the model has not. UserError: no such map in a layer, or a name that fits none.
        """
        lm, p = self.lm, self.params
        names, unmatched = [], dict.fromkeys(p.modules or ())
        defaults: list[tuple[str, ...]] = [(lm.layout.mlp_out,)] * lm.layout.depth
        if lm.layout.experts:
            defaults = maps_beside_experts([lm.block(n) for n in range(lm.layout.depth)], width=lm.layout.width)
        for n in p.layers if p.layers is not None else range(lm.layout.depth):
            block = lm.layout.block(n)
            maps = [name for name, module in lm.module(block).named_modules() if linear_shape(module)]
            endings = p.modules or defaults[n]
            by_ending = {w: [m for m in maps if m == w or m.endswith(f".{w}")] for w in endings}
            unmatched = {w: None for w in unmatched if not by_ending[w]}
            matches = [m for m in maps if any(m in found for found in by_ending.values())]
            if not matches:
                which = f"named {' or '.join(endings)}" if endings else "into the residual beside its experts"
                raise UserError(f"block {n} has no linear map {which}", where="lora", allowed=", ".join(maps))
            names += [f"{block}.{m}" for m in matches]
        if unmatched:
            which, allowed = " or ".join(unmatched), ", ".join(maps)
            raise UserError(f"no block of its layers has a linear map named {which}", where="lora", allowed=allowed)
        return names
