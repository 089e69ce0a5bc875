"""LoRA (Hu et al. 2022) as an edit: adapters of peft trained on the new fact, then read out as low-rank changes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn

from curation.files.artifact_cache import Cache
from evaluation.editors.base import Editor, check_requests
from evaluation.editors.fine_tuning.adapter_training import AdapterStart, AdapterTraining, TrainedAdapters
from evaluation.editors.fine_tuning.long_texts import CutTexts
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.inference.passes import logits_at
from evaluation.models.device_memory import least_free_bytes
from evaluation.models.language_model import LM
from evaluation.models.linear_maps import linear_shape, maps_beside_experts
from evaluation.models.tokens.tokenization import EncodedPrompt
from schemas.core.config import Options
from schemas.core.errors import MissingPackage, ModelError, UserError
from schemas.documents.document import Document
from schemas.facts import Fact

ADAPTER = "edit"

CPU_BYTES = 2**30
"""Of memory for adapters in training on a CPU. ``SHARE``: of a CUDA device's free memory."""

SHARE = 0.2
COPIES = 4
"""What training holds of every factor, in ``bytes_an_edit``: itself, slope, two averages, some of them twice."""

SHORT = 12
"""Tokens that a prompt with its object has at least, nearly always: from it follows how many edits share a pass."""


class Lora(Editor):
    """Trains adapters beside linear maps until the new objects are likely after their fact prompts.

    The loss is that of language modelling on the new object's tokens, the prompt masked; of a document on all its
    tokens but the first. Adapters stand in the model only while they are trained; the edit is their product as data.
    """

    name: ClassVar[str] = "lora"
    version: ClassVar[int] = 1
    takes: ClassVar[tuple[str, ...]] = ("fact", "document")
    about: ClassVar[str] = "low-rank adapters trained on the new fact (LoRA, by peft)"
    needs: ClassVar[str] = "the package peft"
    costs: ClassVar[str] = "a forward and backward pass through the model for every step"

    class Params(Options):
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

    @classmethod
    def layers_of(cls, params: Params) -> tuple[int, ...]:
        """The layers of its options."""
        return params.layers or ()

    @property
    def bytes_an_edit(self) -> int:
        """Both factors of every adapter in float32, and the copy of them that rows of a batch read."""
        weights = [self.lm.module(name) for name in self._names()]
        return 2 * 4 * self.params.rank * sum(sum(linear_shape(w) or ()) for w in weights)

    def edit(self, requests: Sequence[Fact | Document]) -> Edit:
        """One edit, trained on all requests together."""
        lm, p = self.lm, self.params
        texts = [_encoded(lm, request) for request in check_requests(requests)]
        ids, mask = lm.pad([t.ids[:-1] for t in texts])
        rows = [r for r, t in enumerate(texts) for _ in t.target]
        places = [i - 1 for t in texts for i in range(t.first, len(t.ids))]
        goals = torch.tensor([token for t in texts for token in t.target], device=lm.device)
        share = torch.tensor([1 / len(t.target) for t in texts for _ in t.target], device=lm.device) / len(texts)
        loss, steps = torch.zeros(()), 0
        with self._adapters() as adapters, torch.enable_grad():
            factors = [w for a in adapters.values() for w in (a.lora_A[ADAPTER].weight, a.lora_B[ADAPTER].weight)]
            optimiser = torch.optim.AdamW(factors, lr=p.lr, weight_decay=p.weight_decay)
            for step in range(p.steps + 1):
                logprobs = logits_at(lm, ids, mask, rows, places).log_softmax(-1)
                loss = -(logprobs.gather(1, goals[:, None])[:, 0] * share).sum()
                if loss < p.stop_below or step == p.steps:
                    break
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                steps += 1
            deltas = tuple(_delta(name, adapter, lm.device) for name, adapter in adapters.items())
        sizes = self._norms([lm.model.get_parameter(d.weight) for d in deltas])
        ratio = max(d.norm() / size for d, size in zip(deltas, sizes, strict=True))
        cut = self._cut.note(_documents(requests))
        return WeightEdit(deltas, {**_notes(float(loss.detach()), steps, ratio), **cut})

    def edit_each(self, requests: Sequence[Fact | Document]) -> list[Edit]:
        """Independent edits that train side by side, as many as memory holds; equal to one at a time."""
        if not requests:
            return []
        texts = [_encoded(self.lm, request) for request in check_requests(requests)]
        names = self._names()
        with self._adapters() as adapters:
            start = {name: _start(adapter) for name, adapter in adapters.items()}
        sizes = self._norms([self.lm.model.get_parameter(f"{name}.weight") for name in names])

        def train(some: list[EncodedPrompt]) -> list[WeightEdit]:
            p = self.params
            training = AdapterTraining(self.lm, some, start, lr=p.lr, weight_decay=p.weight_decay)
            return self._edits(training.run(steps=p.steps, stop_below=p.stop_below), sizes)

        edits = in_batches(texts, lambda text: len(text.ids), train, self._budget())
        cuts = [self._cut.note(_documents([request])) for request in requests]
        return [replace(edit, notes={**edit.notes, **cut}) for edit, cut in zip(edits, cuts, strict=True)]

    def _budget(self) -> TokenBudget:
        """Tokens of prompts that train side by side: room for factors with averages, and for what a pass keeps."""
        lm = self.lm
        passes = default_budget(lm, gradients=True)
        room = CPU_BYTES if lm.device.type != "cuda" else int(SHARE * least_free_bytes(lm.devices))
        edits = max(1, room // (COPIES * self.bytes_an_edit))
        return TokenBudget(min(passes.tokens, edits * SHORT), minimum=1)

    def _edits(self, adapters: Sequence[TrainedAdapters], sizes: Sequence[float]) -> list[WeightEdit]:
        """Edits with their notes; norms of all are fetched at once."""
        deltas = [
            tuple(LowRankDelta(f"{name}.weight", *pair) for name, pair in adapter.factors.items())
            for adapter in adapters
        ]
        norms = (
            torch.stack([d.squared_norm() for edit_deltas in deltas for d in edit_deltas])
            .sqrt()
            .reshape(len(deltas), -1)
            .tolist()
        )
        edits: list[WeightEdit] = []
        for adapter, edit_deltas, edit_norms in zip(adapters, deltas, norms, strict=True):
            ratio = max(norm / size for norm, size in zip(edit_norms, sizes, strict=True))
            edits.append(WeightEdit(edit_deltas, _notes(adapter.loss, adapter.steps, ratio)))
        return edits

    def _norms(self, weights: Sequence[Tensor]) -> list[float]:
        norms: list[float] = torch.stack([w.detach().float().norm().to(self.lm.device) for w in weights]).tolist()
        return norms

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

    def _put_in(self, adapted: Any, config: Any) -> None:
        """Have peft put adapters on the maps.

        Raises:
            ModelError: peft has none for these maps (Mamba's).
        """
        try:
            adapted(self.lm.model, config, ADAPTER)
        except ValueError as error:
            reason = str(error).removeprefix("[PEFT:PeftType.LORA] ").partition(". ")[0]
            raise ModelError(
                f"peft puts no adapters on these maps: {reason}", where="lora", fix="name other maps with modules"
            ) from None

    @contextmanager
    def _adapters(self) -> Iterator[dict[str, Any]]:
        """Adapters by the name of their map, in the model for the time of the block; then the model is as it was."""
        try:
            from peft import LoraConfig
            from peft.tuners.lora import LoraModel
        except ModuleNotFoundError:
            raise MissingPackage("peft", extra="eval") from None
        model, p, names = self.lm.model, self.params, self._names()
        owners = {name: (model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in names}
        originals = {name: model.get_submodule(name) for name in names}
        before = set(vars(model))
        alpha: Any = p.alpha  # peft's type says int, its arithmetic takes any number
        config = LoraConfig(r=p.rank, lora_alpha=alpha, target_modules=names, lora_dropout=0.0, bias="none")
        try:
            cards = [d.index or 0 for d in self.lm.devices if d.type == "cuda"]
            with torch.random.fork_rng(cards), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # peft tells users of Conv1D what it does by itself
                torch.manual_seed(p.seed)
                self._put_in(LoraModel, config)
            model.eval()
            adapters: dict[str, Any] = {name: model.get_submodule(name) for name in names}
            for adapter in adapters.values():
                for factor in (adapter.lora_A, adapter.lora_B):
                    factor[ADAPTER].float().requires_grad_()
            yield adapters
        finally:  # by hand, not by peft's unload: also where the adapters are only half in
            for name, (owner, last) in owners.items():
                setattr(owner, last, originals[name])
            for name in set(vars(model)) - before:
                delattr(model, name)
            model.requires_grad_(False)


def _encoded(lm: LM, request: Fact | Document) -> EncodedPrompt:
    """A fact's prompt with its new object as target; a document with all its tokens but the first as target.

    Raises:
        UserError: a document of one token.
    """
    if isinstance(request, Fact):
        return lm.encode(request.fact_prompt, request.new_object.text)
    (ids,) = lm.encodings.texts([request.text])
    if len(ids) < 2:
        raise UserError("a document of one token leaves nothing to learn", where=request.key)
    tokens = tuple(ids[: lm.limit] if lm.limit else ids)
    return EncodedPrompt(tokens, 1, 0, False)


def _documents(requests: Sequence[Fact | Document]) -> list[str]:
    """Texts of the requests that are documents."""
    return [one.text for one in requests if isinstance(one, Document)]


def _notes(loss: float, steps: int, ratio: float) -> dict[str, Any]:
    return {"loss": loss, "steps": steps, "norm_ratio": ratio, "blow_up": not ratio <= 1.0}


def _start(adapter: Any) -> AdapterStart:
    down, up = (factor[ADAPTER].weight.detach().clone() for factor in (adapter.lora_A, adapter.lora_B))
    return AdapterStart(down, up, float(adapter.scaling[ADAPTER]))


def _delta(name: str, adapter: Any, device: torch.device) -> LowRankDelta:
    """An adapter's product: left B·scale [out, r], right Aᵀ [in, r]."""
    assert isinstance(adapter, nn.Module)
    layer: Any = adapter
    down: Tensor = layer.lora_A[ADAPTER].weight.detach().to(device).float()
    up: Tensor = layer.lora_B[ADAPTER].weight.detach().to(device).float()
    return LowRankDelta(f"{name}.weight", up * float(layer.scaling[ADAPTER]), down.T.contiguous())
