"""WISE (Wang et al. 2024, "Rethinking the Knowledge Memory ..."): copies of one map for prompts in scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from evaluation.editors.base import check_requests
from evaluation.editors.layer_memory.base import LayerMemoryEditor, MemoryLayer
from evaluation.editors.layer_memory.side_training import SideSettings, SideTraining
from evaluation.editors.locate_edit import context_templates
from evaluation.editors.locate_edit.options import TemplateLengths
from evaluation.edits.edit import CarryingEdit, Edit, carried_by
from evaluation.edits.routed_deltas import tell_prompts
from evaluation.edits.side_memory import SideMemories, ties
from evaluation.models.layout import linear_shape
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.facts import Fact

STARTS = ("I", "You", "Because", "Yes", "Q: ")
"""Words that the published code has the model begin its context templates with."""


class _Memory(NamedTuple):
    """A side memory: W' - W, [out, in], and the least d of the edits in it."""

    change: Tensor
    least: float


class _Shards(NamedTuple):
    """All memories of a sequence: finished ones, that in work (None at a shard's beginning), and how many edits."""

    finished: tuple[_Memory, ...] = ()
    current: _Memory | None = None
    edits: int = 0


class Wise(LayerMemoryEditor):
    """A copy of one FFN map learns the edits; prompts whose activation it moves far enough are sent to it.

    Training lowers the loss of the new object in several contexts and parts the activations: d above beta where the
    edit is asked, below alpha for an unrelated prompt, and gamma apart (Eq. 5). A random part of the entries learns, a
    new part after every ``shard_every`` edits; every ``merge_every`` edits the shards become one by TIES. The memory
    answers a prompt whose d reaches ``threshold`` of the least d of its edits.
    """

    name: ClassVar[str] = "wise"
    about: ClassVar[str] = "a side memory of one FFN map, chosen by how far it moves a prompt's activation (WISE)"
    needs: ClassVar[str] = "support: cases whose fact prompts are what an edit must leave alone"
    costs: ClassVar[str] = (
        "up to 30 forward and backward passes over some 11 prompts, from the layer on; a change of the map's size"
    )

    class Params(MemoryLayer):
        """Options of WISE.

        Attributes:
            steps: Most updates an edit. ``lr``: of plain gradient descent.
            mask: Share of the entries that a shard may change.
            bound: How far any entry may move.
            alpha: Most d of an unrelated prompt. ``beta``: least d of the edit's. ``gamma``: least gap of the two.
            threshold: Part of the least d of a memory's edits at which it answers.
            shard_every: Edits of a shard. ``merge_every``: edits after which shards become one.
            density: Share of a shard's entries that the merging keeps.
            templates: Context templates, each ending in ``{}``, the first a bare ``{}``; None: sampled from the model.
            template_lengths: Pairs (tokens, how many) for sampling.
            seed: Of the parts that learn.
        """

        steps: int = Field(default=30, ge=1)
        lr: float = Field(default=0.9, gt=0)
        mask: float = Field(default=0.2, gt=0, le=1)
        bound: float = Field(default=1.0, gt=0)
        alpha: float = Field(default=2.0, ge=0)
        beta: float = Field(default=20.0, ge=0)
        gamma: float = Field(default=10.0, ge=0)
        threshold: float = Field(default=0.5, gt=0, le=1)
        shard_every: int = Field(default=500, ge=1)
        merge_every: int = Field(default=1000, ge=1)
        density: float = Field(default=0.53, gt=0, le=1)
        templates: tuple[str, ...] | None = None
        template_lengths: TemplateLengths = ((5, 5), (10, 5))
        seed: int = 0

        @model_validator(mode="after")
        def _check_shards(self) -> Wise.Params:
            if self.merge_every % self.shard_every:
                raise ValueError("merge_every must be a multiple of shard_every: whole shards are merged")
            return self

    params: Params
    _unrelated: tuple[str, ...] = ()
    _contexts: tuple[str, ...] | None = None

    @classmethod
    @override
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        return True

    @property
    def bytes_an_edit(self) -> int:
        """A change of every entry of the map, in float32."""
        return 4 * self.lm.layout.width * self.lm.layout.inner

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {} if self.params.templates is not None else {"templates": f"sampled@{context_templates.VERSION}"}

    def prepare(self, support: Sequence[Case]) -> None:
        """Keep the support's fact prompts, and sample the templates.

        Raises:
            UserError: there are none.
        """
        self._unrelated = tuple(case.fact.fact_prompt for case in support)
        if not self._unrelated:
            raise UserError(
                "wise learns to leave unrelated prompts alone, and there are none",
                where="support",
                fix="declare support in the run's configuration, such as support = 'shipped'",
            )
        self._templates()

    def _templates(self) -> tuple[str, ...]:
        if self._contexts is None:
            p = self.params
            with tell_prompts(self.lm.model, None):
                self._contexts = (
                    context_templates.check_templates(p.templates)
                    if p.templates is not None
                    else context_templates.sample_templates(
                        self.lm, p.template_lengths, cache=self.cache, starts=STARTS
                    )
                )
        return self._contexts

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One memory (or several, for many requests) that learns all requests one after the other."""
        return self._learn(_Shards(), check_requests(requests))

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Edit]) -> Edit:
        """The memories of the earlier edits with these requests learnt; they take the place of theirs."""
        return self._learn(carried_by(earlier) or _Shards(), check_requests(requests))

    def _learn(self, shards: _Shards, facts: Sequence[Fact]) -> Edit:
        if not self._unrelated:
            raise UserError("wise was not prepared", fix="call prepare(support) first")
        p, notes = self.params, dict[str, Any]()
        settings = SideSettings(p.steps, p.lr, p.bound, p.alpha, p.beta, p.gamma, self._activation())
        for fact in facts:
            other = self._unrelated[seed(fact.key, "wise") % len(self._unrelated)]
            training = SideTraining(self.lm, p.layer, self.module, fact, self._templates(), other, settings)
            begun = shards.current
            change, outcome = training.run(None if begun is None else begun.change, self._part(shards.edits))
            smallest_inside = outcome.inside if begun is None else min(begun.least, outcome.inside)
            shards = self._after(shards, _Memory(change, smallest_inside))
            notes = {**outcome._asdict(), "loss": max(outcome.loss, notes.get("loss", outcome.loss))}
        return self._made(shards, notes)

    def _part(self, edits: int) -> Tensor:
        """Which entries the shard of the next edit may change, [out, in] of 0 and 1."""
        shape = linear_shape(self.module)
        assert shape is not None
        draws = torch.Generator().manual_seed(
            seed("wise", str(self.params.seed), str(edits // self.params.shard_every))
        )
        return (torch.rand(shape, generator=draws) < self.params.mask).float().to(self.lm.device)

    def _activation(self) -> str:
        """Name of the model's activation, as its configuration has it."""
        config = self.lm.model.config.get_text_config()
        for field in ("hidden_act", "hidden_activation", "activation_function"):
            if isinstance(name := getattr(config, field, None), str):
                return name
        return "linear"

    def _after(self, shards: _Shards, memory: _Memory) -> _Shards:
        """The shards after an edit: a full one is finished, and finished ones become one in time."""
        p, edits, finished = self.params, shards.edits + 1, shards.finished
        if edits % p.shard_every:
            return _Shards(finished, memory, edits)
        finished = (*finished, memory)
        if edits % p.merge_every == 0 and (count := p.merge_every // p.shard_every) > 1:
            last = finished[-count:]
            merged = ties([m.change for m in last], p.density)
            finished = (*finished[:-count], _Memory(merged, min(m.least for m in last)))
        return _Shards(finished, None, edits)

    def _made(self, shards: _Shards, notes: Mapping[str, Any]) -> Edit:
        memories = [*shards.finished, *([shards.current] if shards.current is not None else [])]
        delta = SideMemories(
            f"{self.module_name}.weight",
            torch.stack([m.change for m in memories]),
            torch.tensor([m.least * self.params.threshold for m in memories], device=self.lm.device),
            self._activation(),
        )
        size = float(self.module.weight.float().norm())  # type: ignore[operator]
        ratio = max(float(m.change.norm()) for m in memories) / size
        more = {"memories": len(memories), "norm_ratio": ratio, "blow_up": not ratio <= 1.0}
        return CarryingEdit((delta,), {**notes, **more}, shards)
