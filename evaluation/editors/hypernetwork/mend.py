"""MEND (Mitchell et al. 2022, "Fast Model Editing at Scale"): a trained network turns one gradient into an edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field, field_validator

from curation.case_sources.support import TrainingData
from evaluation.editors.base import FactFormat, GroupEditor, check_requests, norm_notes
from evaluation.editors.checkpoints import CheckpointEditor, not_trained, read_tensors, write_checkpoint
from evaluation.editors.hypernetwork.gradients import gradients, map_shapes
from evaluation.editors.hypernetwork.network import EditNetworks, GradientPairs, WeightChange
from evaluation.editors.hypernetwork.training import Trainer, TrainingResult, TrainingStep, TrainingTask
from evaluation.editors.hypernetwork.training_cases import training_cases
from evaluation.editors.target_texts import TargetBatch, TargetText, fact_texts
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import LowRankDelta, WeightDelta
from evaluation.models.devices import send
from schemas.core.errors import UserError


class Mend(GroupEditor, CheckpointEditor):
    """One gradient of the new object's log-probability, mapped by a network to low-rank changes of several layers.

    The network is trained once per model, from a file (``scedit model train``) or on the run's support. Several
    requests of one edit add up, each with its own gradient.
    """

    name: ClassVar[str] = "mend"
    edits_mlp: ClassVar[bool] = True
    about: ClassVar[str] = "a trained hypernetwork turns one gradient into low-rank changes (MEND)"
    shipped_in: ClassVar[str] = "evaluation.editors.hypernetwork"
    needs: ClassVar[str] = "a checkpoint for the model (scedit model train --editors mend), or support to train on"
    costs: ClassVar[str] = "training once a model; then one forward and backward pass an edit"

    class Params(FactFormat):
        """Options of MEND.

        Attributes:
            checkpoint: File of a trained network; ``shipped:NAME`` for one that comes with the program; None: train on
                the support (kept in the cache). With a checkpoint, what follows but ``scale`` is read from it.
            scale: Factor on the learnt step sizes at editing.
            layers: Edited layers (MLP output projections), from 0; None: the last three.
            rank: Rank of the network's maps.
            step_size: Step size of every layer before training.
            steps: Training steps.
            lr: Adam's learning rate.
            step_lr: That of the step sizes' logarithms.
            edits: Edits a step.
            equal: Prompts an edit that must follow it.
            kept: Prompts that must stay.
            edit_weight: Weight c of the edits' loss against the divergence.
            held_out: Training cases kept aside to choose the best step (at most a quarter).
            report_every: Steps between reports; the training is saved then.
            seed: Of the network's start and of all draws.
        """

        checkpoint: str | None = None
        scale: float = Field(default=1.0, gt=0)
        layers: tuple[int, ...] | None = None
        rank: int = Field(default=64, ge=1)
        step_size: float = Field(default=1e-4, gt=0)
        steps: int = Field(default=1000, ge=1)
        lr: float = Field(default=5e-4, gt=0)
        step_lr: float = Field(default=1e-2, gt=0)
        edits: int = Field(default=8, ge=1)
        equal: int = Field(default=1, ge=1)
        kept: int = Field(default=2, ge=1)
        edit_weight: float = Field(default=0.1, gt=0)
        held_out: int = Field(default=32, ge=1)
        report_every: int = Field(default=50, ge=1)
        seed: int = 0

        @field_validator("layers")
        @classmethod
        def _edit_each(cls, layers: tuple[int, ...] | None) -> tuple[int, ...] | None:
            if layers is not None and (not layers or len(set(layers)) < len(layers) or min(layers) < 0):
                raise ValueError("name at least one layer, each once, from 0")
            return None if layers is None else tuple(sorted(layers))

    params: Params
    rows: ClassVar[int] = 32
    """Edits of one pass."""
    trainer: ClassVar[type[Trainer]] = Trainer
    _ready: Checkpoint | None = None

    # --- what is edited, and what it is learnt from -------------------------------------------------------------------

    def maps(self, layers: Sequence[int]) -> list[str]:
        """Names of the modules of the edited linear maps."""
        return [self.lm.layout.projection(n) for n in layers]

    def texts_of(self, requests: Sequence[Any]) -> list[TargetText]:
        """What the gradients of requests are taken of.

        Raises:
            UserError: one cannot be read.
        """
        return fact_texts(self.lm, requests)

    def training_task(self, cases: Sequence[Any]) -> TrainingTask:
        """What is learnt of cases.

        Raises:
            UserError: too few of them.
        """
        return TrainingTask(self.maps(self._complete_options().layers or ()), training_cases(self.lm, cases))

    def prepare(self, support: Sequence[Any]) -> None:
        """Read the checkpoint, or train on the support unless the cache has the result."""
        self._ready = None
        self._support = tuple(support)
        self._network()

    def train(
        self,
        cases: Sequence[Any],
        *,
        name: str,
        out: Path | str,
        on_step: Callable[[TrainingStep], None] | None = None,
        minutes: float | None = None,
    ) -> TrainingResult:
        """Train a network and write it to a file; stopped at any moment, the same call goes on.

        Args:
            cases: What to train on; never evaluated ones.
            name: What the cases are called.
            out: The checkpoint; the training on its way stands beside it.
            on_step: Called with the progress.
            minutes: End after so many of training, all calls counted, with the best network so far.

        Raises:
            UserError: too few cases, a file that cannot be written, or an unfinished training of another kind.
        """
        p, out = self._complete_options(), Path(out)
        data = TrainingData.of(name, cases)
        identity = self.identity(data.digest)
        state = out.with_name(out.name + ".state")
        task = self.training_task(cases)
        trainer = self.trainer(self.lm, task, p, state=state, identity=identity, on_step=on_step, minutes=minutes)
        trained = trainer.run()
        write_checkpoint(
            out,
            trained.network.state_dict(),
            data,
            cases=len(cases),
            shapes=map_shapes(self.lm, task.maps),
            identity=identity,
            weights=[f"{module}.weight" for module in task.maps],
            held_out={**trained.held_out._asdict(), "step": trained.step},
            seconds=round(trained.seconds),
        )
        state.unlink(missing_ok=True)
        return trained

    @torch.no_grad()
    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """One edit a group; the gradients of many groups come from one pass."""
        requests = [request for group in groups for request in check_requests(group)]
        pairs: list[list[GradientPairs]] = []
        for start in range(0, len(requests), self.rows):
            pairs += self._pairs(requests[start : start + self.rows])
        each, changes = iter(pairs), list[list[WeightDelta]]()
        for group in groups:
            by_map = zip(*islice(each, len(group)), strict=True)
            changes.append([self._delta(at, some) for at, some in enumerate(by_map)])
        notes = norm_notes(self.lm.model, changes)
        return [WeightEdit(tuple(deltas), note) for deltas, note in zip(changes, notes, strict=True)]

    def _pairs(self, requests: Sequence[Any]) -> list[list[GradientPairs]]:
        """Vectors u and δ of every request by map, without padding."""
        ready = self._network()
        batch = TargetBatch(self.lm, self.texts_of(requests), min(ready.layers))
        pairs = gradients(ready.maps, batch, answers=ready.answers)
        counts = torch.stack([pairs[name].real for name in ready.maps]).gt(0).tolist()  # fetched once, as the norms are
        out: list[list[GradientPairs]] = []
        for i in range(len(requests)):
            out.append([])
            for at, name in enumerate(ready.maps):
                mine = send([n for n, real in enumerate(counts[at][i]) if real], self.lm.device)
                out[-1].append(GradientPairs(*(x[i : i + 1, mine] for x in pairs[name])))
        return out

    def _change(self, at: int, pairs: Sequence[GradientPairs]) -> WeightChange:
        """What the network makes of the gradients of an edit's requests at one map: here the sum over them."""
        each = [self._network().network(at, one) for one in pairs]
        return WeightChange(torch.cat([one.left for one in each], 2), torch.cat([one.right for one in each], 2))

    def _delta(self, at: int, pairs: Sequence[GradientPairs]) -> WeightDelta:
        """The change of one map, scaled, in factors."""
        change = self._change(at, pairs)
        left = (self.params.scale * change.left[0]).contiguous()
        return LowRankDelta(f"{self._network().maps[at]}.weight", left, change.right[0].contiguous())

    # --- the network --------------------------------------------------------------------------------------------------

    def _complete_options(self) -> Params:
        """The options with the layers filled in."""
        depth = self.lm.layout.depth
        layers = self.params.layers or tuple(range(max(0, depth - 3), depth))
        for n in layers:
            self.lm.layout.block(n)
        return self.params.model_copy(update={"layers": layers})

    def identity(self, data: str) -> dict[str, Any]:
        """The model and the options of training."""
        p = self._complete_options().model_dump(mode="json", exclude={"checkpoint", "scale"})
        return {"method": self.name, "version": self.version, "model": self.lm.revision, "data": data, "params": p}

    def _network(self) -> Checkpoint:
        if self._ready is None:
            path = self.checkpoint_file()
            ready = Checkpoint.load(path, self.name)
            if ready.model != self.lm.revision:
                raise UserError(
                    "the network was trained for another model",
                    where=str(self.params.checkpoint or path),
                    fix=f"train one: scedit model train --editors {self.name}",
                )
            ready.network.to(self.lm.device)
            self._ready = ready
        return self._ready


class Checkpoint(NamedTuple):
    """A trained network with what it is for; ``answers``: only tokens before the new object count."""

    network: EditNetworks
    layers: tuple[int, ...]
    model: str
    maps: tuple[str, ...]
    answers: bool

    @classmethod
    def load(cls, path: Path | str, method: str = "mend") -> Checkpoint:
        """Read a checkpoint of a method.

        Raises:
            DataError: it is none.
        """
        tensors, manifest = read_tensors(path)
        try:
            identity, shapes = manifest["identity"], [(int(a), int(b)) for a, b in manifest["shapes"]]
            if identity["method"] != method:
                raise ValueError(f"it is one of '{identity['method']}'")
            maps = tuple(name.removesuffix(".weight") for name in manifest["weights"])
            joint = any(name.endswith("log_damping") for name in tensors)
            network = EditNetworks(shapes, rank=identity["params"]["rank"], step=1.0, seed=0, joint=joint)
            network.load_state_dict({k: v.float() for k, v in tensors.items()})
            network.eval().requires_grad_(False)
            params = identity["params"]
            answers = params.get("tokens") == "answer"
            return cls(network, tuple(params["layers"]), identity["model"], maps, answers)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise not_trained(method, error, path) from None
