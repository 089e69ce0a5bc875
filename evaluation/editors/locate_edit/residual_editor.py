"""What MEMIT, EMMET and AlphaEdit share: a hidden state is searched for, and its residual is written layer by layer.

The state z at the subject's last token, in the output of the last edited layer, is found by gradient descent (MEMIT
Eq. 16). Then every layer in turn writes its part of what is still missing (Eq. 20): δ/L at the first, the rest in
equal parts at the others, each with keys read in the model that the earlier layers changed. The methods differ in the
metric of key space that decides what else a layer's change disturbs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.base import DIVERGENCE_RATIO, GroupEditor, by_size, check_requests
from evaluation.editors.locate_edit import closed_forms, context_templates, options, readings, value_search
from evaluation.editors.locate_edit.options import CovarianceParams, TemplateLengths, ValueSearchParams
from evaluation.editors.locate_edit.stabilised import (
    FIRST,
    CarriedState,
    StabilisedEditor,
    StabiliserParams,
    state_after,
)
from evaluation.edits.edit import Edit
from evaluation.edits.weight_deltas import LowRankDelta, WeightDelta
from schemas.cases import Case
from schemas.core.config import Options
from schemas.core.errors import ModelError
from schemas.facts import Fact

STARTS = ("The", "Therefore", "Because", "I", "You")
"""Words that the published code has the model begin its context templates with."""


class EditedLayers(Options):
    """``layers``: edited layers, from 0, ascending. The state is searched for in the last one's output."""

    layers: tuple[int, ...] = Field(min_length=1)

    @field_validator("layers")
    @classmethod
    def _check_ascending(cls, layers: tuple[int, ...]) -> tuple[int, ...]:
        if list(layers) != sorted(set(layers)) or layers[0] < 0:
            raise ValueError("layers are counted from 0 and given in ascending order, each once")
        return layers


class _SpreadSearch(ValueSearchParams):
    """The search for the state z (z₀ stands for v₀), and how strongly its residual is written.

    Attributes:
        template_starts: Words that sampled templates begin with in turn.
        lam: λ, weight of what the change must not disturb, in units of the model's keys.
        rho: Instead of λ the part of the residual that a layer is to write: λ = a(1 − ρ)/ρ, with a = k'Mk of the
            edit's own keys. One ρ means the same for every model; one λ does not.
    """

    template_lengths: TemplateLengths = ((10, 5),)
    template_starts: tuple[str, ...] = STARTS
    lam: float | None = Field(default=None, ge=0)
    rho: float | None = Field(default=None, gt=0, lt=1)

    @model_validator(mode="after")
    def _one_of_two(self) -> _SpreadSearch:
        if (self.lam is None) == (self.rho is None):
            raise ValueError("give either lam (λ) or rho (the part of the residual to write)")
        return self


class ResidualEditor(GroupEditor, StabilisedEditor):
    """Writes the residual of a searched hidden state over several layers; subclasses give the metric of key space.

    Attributes:
        keeps_earlier: Whether keys of earlier edits in a sequence keep their values, without being told to.
    """

    keeps_earlier: ClassVar[bool] = False

    edits_mlp: ClassVar[bool] = True
    needs: ClassVar[str] = (
        "second moments of keys of every edited layer: a text corpus, measured once a model, or a pack"
    )
    costs: ClassVar[str] = "up to 25 forward and backward passes over 7 short prompts, then two short passes a layer"
    alternatives: ClassVar[tuple[tuple[str, ...], ...]] = (("lam", "rho"),)

    class Params(StabiliserParams, CovarianceParams, _SpreadSearch, EditedLayers):
        """Options of all methods that spread a residual: layers, search, strength, second moments, stabilisers."""

    params: Params
    _ready: tuple[tuple[str, ...], dict[int, KeyCovariance]] | None = None

    @abstractmethod
    def metric(self, moments: KeyCovariance, layer_keys: Tensor) -> Tensor:
        """M k of every key, float64 [..., inner]."""

    @property
    def components(self) -> Mapping[str, str]:
        """The template sampler's version, and digests of corpus or ready statistics."""
        versions = {} if self.params.templates is not None else {"templates": f"sampled@{context_templates.VERSION}"}
        return {**versions, **options.moments_digest(self.params)}

    def prepare(self, support: Sequence[Case]) -> None:
        """Sample the templates, measure the second moments, unless the cache has them, and what stabilisers need."""
        self._material()
        super().prepare(support)

    def _material(self) -> tuple[tuple[str, ...], dict[int, KeyCovariance]]:
        if self._ready is None:
            p, lm = self.params, self.lm
            self._refuse_norms()
            templates = context_templates.check_templates(p.templates) if p.templates is not None else None
            sampled = templates or context_templates.sample_templates(
                lm, p.template_lengths, cache=self.cache, starts=p.template_starts
            )
            self._ready = sampled, options.obtain_moments(p, lm, p.layers, cache=self.cache)
        return self._ready

    def _refuse_norms(self) -> None:
        if not self.lm.layout.additive:
            raise ModelError(
                f"'{self.name}' writes into the residual, and a norm follows the MLP of this model",
                where=self.lm.name,
                fix="use a method that writes the MLP's own output, such as rome or r_rome",
            )

    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """Groups of one size are made together: one search, and one pass a layer for all keys."""
        return by_size(groups, self._write)

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Edit]) -> Edit:
        """One edit for all requests on a model that carries ``earlier``.

        What those wrote keeps its place, where the method or the stabiliser ``accumulate`` says so.
        """
        return self._write([list(check_requests(requests))], state_after(earlier))[0]

    @property
    def _holds_keys(self) -> bool:
        """Whether later edits ask at which keys earlier ones wrote; if not, edits do not carry them."""
        return self.keeps_earlier or "accumulate" in self.params.stabilise

    def _held(self, before: CarriedState, keys: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Keys that later edits are to spare, by layer: those of earlier edits and of this one."""
        held = keys if self._holds_keys else {}
        return {n: torch.cat([before.keys[n], new]) if n in before.keys else new for n, new in held.items()}

    def _kept(
        self, layer: int, facts: Sequence[Fact], edits: Sequence[Sequence[WeightDelta]], earlier: Tensor | None
    ) -> Tensor | None:
        """Keys of a layer whose values are to stay, [keys, inner]: here those of earlier edits."""
        return earlier

    def _search(self, facts: Sequence[Fact]) -> list[value_search.SearchedValue]:
        p, (contexts, _) = self.params, self._material()
        settings = value_search.SearchSettings.of(p)
        return value_search.search_values(self.lm, p.layers[-1], facts, contexts, settings=settings, site="block")

    def _mlp_part(self, facts: Sequence[Fact]) -> Tensor:
        """What the last edited layer's MLP adds at every bare prompt's subject, [facts, width]."""
        prompts = [readings.subject_position(self.lm, fact) for fact in facts]
        return readings.read_at(self.lm, self.lm.projection(self.params.layers[-1]), prompts).values

    def searched_values(self, facts: Sequence[Fact]) -> Tensor:
        """The MLP's part with the searched change, [facts, width]."""
        return self._mlp_part(facts) + torch.stack([v.target - v.initial for v in self._search(facts)])

    def _targets(self, facts: Sequence[Fact], values: Sequence[value_search.SearchedValue]) -> tuple[Tensor, list[int]]:
        """The wanted state z of every fact, and with ``nas`` which facts are skipped: their state stays."""
        target = torch.stack([value.target for value in values])
        if "nas" not in self.params.stabilise:
            return target, []
        part, initial = self._mlp_part(facts), torch.stack([value.initial for value in values])
        wanted = self.anchor(part + target - initial)
        target = torch.where(wanted.skipped[:, None], initial, initial + wanted.values - part)
        return target, wanted.skipped.nonzero()[:, 0].tolist()

    def _write(self, groups: list[list[Fact]], before: CarriedState = FIRST) -> list[Edit]:
        """An edit for every group of facts; groups are of one size and do not influence each other."""
        p, lm = self.params, self.lm
        contexts, moments = self._material()
        facts = [fact for group in groups for fact in group]
        shape = (len(groups), len(groups[0]), -1)
        values = self._search(facts)
        target, skipped = self._targets(facts, values)
        edits: list[list[WeightDelta]] = [[] for _ in groups]
        notes, written_at = _Notes(len(groups)), dict[int, Tensor]()
        for i, layer in enumerate(p.layers):
            layer_keys = self._keys(layer, facts, contexts, edits).reshape(shape)
            missing = (target - self._states(facts, edits)).reshape(shape)
            columns = closed_forms.columns(
                layer_keys,
                partial(self.metric, moments[layer]),
                penalty=p.lam,
                fraction=p.rho,
                earlier=self._kept(layer, facts, edits, before.keys.get(layer) if self._holds_keys else None),
            )
            changes = [
                LowRankDelta(lm.layout.weight(layer), left.T.contiguous(), right.T.contiguous())
                for left, right in zip(missing / self.share(i), columns.adjusted.float(), strict=True)
            ]
            for deltas, change in zip(edits, self.reshaped(layer, changes, before), strict=True):
                deltas.append(change)
            written_at[layer] = layer_keys
            notes.layer(lm, layer, [deltas[-1] for deltas in edits], columns)
        remaining = (target - self._states(facts, edits)).reshape(shape)
        whole = (target - torch.stack([v.initial for v in values])).reshape(shape)
        edit_notes = notes.edits(values, whole=whole, left=remaining, ridge=p.ridge)
        for n in skipped:
            note = edit_notes[n // shape[1]]
            note["nas_skipped"] = note.get("nas_skipped", 0) + 1
        return [
            self.finish(deltas, note, before, self._held(before, {n: keys[g] for n, keys in written_at.items()}))
            for g, (deltas, note) in enumerate(zip(edits, edit_notes, strict=True))
        ]

    def share(self, index: int) -> float:
        """What the missing part is divided by at the layer of this index: layers that are still to be written."""
        return len(self.params.layers) - index

    def _keys(
        self, layer: int, facts: Sequence[Fact], contexts: Sequence[str], edits: Sequence[Sequence[WeightDelta]]
    ) -> Tensor:
        """Keys [facts, inner]: half the bare prompt's, half the mean over the other templates, as published."""
        lm = self.lm
        prompts = [readings.subject_position(lm, fact, text) for fact in facts for text in contexts]
        groups = [n * len(edits) // len(facts) for n in range(len(facts)) for _ in contexts]
        read_keys = readings.read_at(lm, lm.projection(layer), prompts, edits=edits, groups=groups).keys
        read_keys = read_keys.reshape(len(facts), len(contexts), -1)
        bare, others = read_keys[:, 0], read_keys[:, 1:]
        return (bare + others.mean(1)) / 2 if others.shape[1] else bare

    def _states(self, facts: Sequence[Fact], edits: Sequence[Sequence[WeightDelta]]) -> Tensor:
        """The last edited layer's output at every bare prompt's subject, as it now is, [facts, width]."""
        lm = self.lm
        prompts = [readings.subject_position(lm, fact) for fact in facts]
        groups = [n * len(edits) // len(facts) for n in range(len(facts))]
        block = lm.block(self.params.layers[-1])
        return readings.read_at(lm, block, prompts, edits=edits, groups=groups).values


class _Notes:
    """What is to be noted of edits in the making."""

    def __init__(self, groups: int) -> None:
        self._layers: list[dict[str, Any]] = [{} for _ in range(groups)]

    def layer(self, lm: Any, layer: int, changes: Sequence[WeightDelta], columns: closed_forms.Columns) -> None:
        """One layer's change: its norm over the weight's, a = k'Mk of its keys, λ."""
        size = float(lm.projection(layer).weight.float().norm())
        for g, layer_notes in enumerate(self._layers):
            norm = changes[g].norm()
            reach = columns.reach[g].sort().values
            layer_notes[str(layer)] = {
                "norm_ratio": norm / size,
                "reach": float(reach.median()),
                "reach_least": float(reach[0]),
                "reach_most": float(reach[-1]),
                "lambda": float(columns.penalty[g]),
            }

    def edits(
        self, values: Sequence[value_search.SearchedValue], *, whole: Tensor, left: Tensor, ridge: float
    ) -> list[dict[str, Any]]:
        """One note an edit; ``written`` is the part of the searched change that the edited layers' state now shows."""
        size = whole.shape[1]
        out = []
        for g, layers in enumerate(self._layers):
            edit_values = values[g * size : (g + 1) * size]
            ratio = max(layer_note["norm_ratio"] for layer_note in layers.values())
            reached = 1 - left[g].norm(dim=1) / whole[g].norm(dim=1).clamp(min=1e-12)
            note: dict[str, Any] = {
                "loss": max(value.loss for value in edit_values),
                "nll": max(value.nll for value in edit_values),
                "steps": max(value.updates for value in edit_values),
                "value_norm": float(whole[g].norm(dim=1).max()),
                "written": float(reached.mean()),
                "norm_ratio": ratio,
                "blow_up": not ratio <= DIVERGENCE_RATIO,
                "layers": layers,
            }
            if ridge:
                note["ridge"] = ridge
            out.append(note)
        return out
