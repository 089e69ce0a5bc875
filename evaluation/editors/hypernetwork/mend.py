"""MEND (Mitchell et al. 2022, "Fast Model Editing at Scale"): a trained network turns one gradient into an edit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field, field_validator

from evaluation.editors.base import check_requests
from evaluation.editors.checkpoints import CheckpointEditor, read_tensors, write_tensors
from evaluation.editors.hypernetwork.gradients import GradientLine, LowerLayerStates, gradients, line
from evaluation.editors.hypernetwork.network import AnyEditNetwork, EditNetwork, GradientPairs
from evaluation.editors.hypernetwork.training import (
    Trainer,
    TrainingResult,
    TrainingSettings,
    TrainingStep,
    TrainingTask,
)
from evaluation.editors.hypernetwork.training_cases import training_cases
from evaluation.editors.training_data import TrainingData
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.models.transfers import send
from schemas.core.config import Options
from schemas.core.errors import DataError, UserError
from schemas.core.ids import content_id

log = logging.getLogger(__name__)

FORMAT = 1


class Mend(CheckpointEditor):
    """One gradient of the new object's log-probability, mapped by a network to low-rank changes of several layers.

    The network is trained once per model, from a file (``scedit model train``) or on the run's support. Several
    requests of one edit add up, each with its own gradient.
    """

    name: ClassVar[str] = "mend"
    edits_mlp: ClassVar[bool] = True
    version: ClassVar[int] = 1
    about: ClassVar[str] = "a trained hypernetwork turns one gradient into low-rank changes (MEND)"
    shipped_in: ClassVar[str] = "evaluation.editors.hypernetwork"
    needs: ClassVar[str] = "a checkpoint for the model (scedit model train --editors mend), or support to train on"
    costs: ClassVar[str] = "training once a model; then one forward and backward pass an edit"

    class Params(Options):
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
    _cases: tuple[Any, ...] = ()
    _ready: Checkpoint | None = None

    @classmethod
    def layers_of(cls, params: Params) -> tuple[int, ...]:
        """The layers of its options."""
        return params.layers or ()

    @classmethod
    def trained_on(cls, path: Path) -> TrainingData:
        """What the network of a file was trained on."""
        _, manifest = read_tensors(path)
        try:
            name, digest = manifest["trained"]["name"], manifest["trained"]["digest"]
            texts = frozenset(manifest.get("texts", ()))
            return TrainingData(name, digest, frozenset(manifest["keys"]), frozenset(manifest["subjects"]), texts)
        except (KeyError, TypeError) as error:
            raise DataError(f"no trained network of {cls.name}: {error} is missing", where=str(path)) from None

    # --- what is edited, and what it is learnt from -------------------------------------------------------------------

    def maps(self, layers: Sequence[int]) -> list[str]:
        """Names of the modules of the edited linear maps."""
        return [self.lm.layout.projection(n) for n in layers]

    def line_of(self, request: Any) -> GradientLine:
        """What the gradient of a request is taken of.

        Raises:
            UserError: it cannot be read.
        """
        one = line(self.lm, request.fact_prompt, request.new_object.text)
        if one is None:
            raise UserError("the fact prompt cannot be read", where=request.key)
        return one

    def training_task(self, cases: Sequence[Any]) -> TrainingTask:
        """What is learnt of cases.

        Raises:
            UserError: too few of them.
        """
        return TrainingTask(self.maps(self._complete_options().layers or ()), training_cases(self.lm, cases))

    def shape_note(self) -> dict[str, Any]:
        """What a checkpoint keeps of the maps' shapes."""
        return {"inputs": self.lm.layout.inner}

    @classmethod
    def network_of(cls, tensors: dict[str, torch.Tensor], manifest: dict[str, Any]) -> AnyEditNetwork:
        """An empty network of a checkpoint's shape."""
        p, inputs = manifest["identity"]["params"], int(manifest["inputs"])
        outputs = tensors["bias"].shape[0] - inputs
        return EditNetwork(inputs, outputs, layers=len(p["layers"]), rank=p["rank"], step=1.0, seed=0)

    def prepare(self, support: Sequence[Any]) -> None:
        """Read the checkpoint, or train on the support unless the cache has the result."""
        self._ready = None
        self._cases = tuple(support)
        self._network()

    def train(
        self,
        cases: Sequence[Any],
        *,
        name: str,
        out: Path,
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
        p, lm = self._complete_options(), self.lm
        data = TrainingData.of(name, cases)
        identity = self._identity(data.digest)
        state = out.with_name(out.name + ".state")
        settings = {name: getattr(p, name) for name in TrainingSettings._fields}
        trainer = Trainer(
            lm,
            self.training_task(cases),
            TrainingSettings(**settings),
            state=state,
            identity=identity,
            on_step=on_step,
            minutes=minutes,
        )
        trained = trainer.run()
        maps = [f"{module}.weight" for module in self.maps(p.layers or ())]
        about = {"format": FORMAT, **self.shape_note(), "identity": identity, "weights": maps}
        learnt = {"trained": {"name": name, "digest": data.digest, "cases": len(cases)}, **_seen(data)}
        write_tensors(out, trained.network.state_dict(), {**about, **learnt, **_found(trained)})
        state.unlink(missing_ok=True)
        return trained

    def edit(self, requests: Sequence[Any]) -> Edit:
        """The changes of all requests together."""
        return _together(self.edit_each(check_requests(requests)))

    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """Gradients of the facts of many groups come from one pass."""
        each = iter(self.edit_each([request for group in groups for request in check_requests(group)]))
        return [_together(list(islice(each, len(group)))) for group in groups]

    def edit_each(self, requests: Sequence[Any]) -> list[Edit]:
        """Independent edits; the gradients of many come from one pass."""
        out: list[Edit] = []
        for start in range(0, len(requests), self.rows):
            out += self._edit_each(requests[start : start + self.rows])
        return out

    @torch.no_grad()
    def _edit_each(self, requests: Sequence[Any]) -> list[Edit]:
        lm, ready = self.lm, self._network()
        maps = ready.maps
        below = LowerLayerStates(lm, min(ready.layers), keep=False)
        pairs = gradients(lm, maps, [self.line_of(one) for one in requests], below)
        counts = torch.stack([pairs[name].real for name in maps]).gt(0).tolist()  # fetched once, as the norms are
        changes: list[list[LowRankDelta]] = []
        for i in range(len(requests)):
            changes.append([])
            for at, name in enumerate(maps):
                mine = send([n for n, real in enumerate(counts[at][i]) if real], lm.device)
                change = ready.network(at, GradientPairs(*(x[i : i + 1, mine] for x in pairs[name])))
                left = (self.params.scale * change.left[0]).contiguous()
                changes[-1].append(LowRankDelta(f"{name}.weight", left, change.right[0].contiguous()))
        sizes = torch.stack([lm.module(name).weight.float().norm().to(lm.device) for name in maps]).tolist()  # type: ignore[operator]
        norms = (
            torch.stack([d.squared_norm().sqrt() for deltas in changes for d in deltas]).view(-1, len(maps)).tolist()
        )
        ratios = [max(norm / size for norm, size in zip(row, sizes, strict=True)) for row in norms]
        return [
            WeightEdit(tuple(deltas), {"norm_ratio": ratio, "blow_up": not ratio <= 1.0})
            for deltas, ratio in zip(changes, ratios, strict=True)
        ]

    # --- the network --------------------------------------------------------------------------------------------------

    def _complete_options(self) -> Params:
        """The options with the layers filled in."""
        depth = self.lm.layout.depth
        layers = self.params.layers or tuple(range(max(0, depth - 3), depth))
        for n in layers:
            self.lm.layout.block(n)
        return self.params.model_copy(update={"layers": layers})

    def _identity(self, data: str) -> dict[str, Any]:
        p = self._complete_options().model_dump(mode="json", exclude={"checkpoint", "scale"})
        return {"method": self.name, "version": self.version, "model": self.lm.revision, "data": data, "params": p}

    def _network(self) -> Checkpoint:
        if self._ready is None:
            named = self.params.checkpoint
            path = self._trained() if named is None else self.checkpoint_path(named)
            ready = Checkpoint.load(path, type(self))
            ready.fits(self.lm.revision, self.name, where=str(named or path))
            ready.network.to(self.lm.device)
            self._ready = ready
        return self._ready

    def _trained(self) -> Path:
        """Checkpoint of a training on the support, in the cache folder."""
        cases = self._cases
        if not cases:
            raise UserError(
                "there is no trained network for this model",
                where=self.name,
                fix=f"train one (scedit model train --editors {self.name}), set its file as params.checkpoint, "
                "or declare support",
            )
        identity = self._identity(TrainingData.of("support", cases).digest)
        path = self.cache.folder / f"{self.name}-{content_id(self.name, identity)}.safetensors"
        if not path.is_file():
            log.warning("training %s for %s on %d cases of the support (once)", self.name, self.lm.name, len(cases))
            self.train(cases, name="support", out=path, on_step=_log)
        return path


class Checkpoint(NamedTuple):
    """A trained network with what it is for."""

    network: AnyEditNetwork
    layers: tuple[int, ...]
    model: str
    maps: tuple[str, ...]

    @classmethod
    def load(cls, path: Path, kind: type[Mend] = Mend) -> Checkpoint:
        """Read a checkpoint of a method.

        Raises:
            DataError: it is none.
        """
        tensors, manifest = read_tensors(path)
        try:
            layers = tuple(manifest["identity"]["params"]["layers"])
            maps = tuple(name.removesuffix(".weight") for name in manifest["weights"])
            network = kind.network_of(tensors, manifest)
            network.load_state_dict({k: v.float() for k, v in tensors.items()})
            return cls(network.eval().requires_grad_(False), layers, manifest["identity"]["model"], maps)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"no trained network of {kind.name}: {error}", where=str(path)) from None

    def fits(self, revision: str, method: str, *, where: str) -> None:
        """Refuse a network trained for another model."""
        if self.model != revision:
            raise UserError(
                "the network was trained for another model",
                where=where,
                fix=f"train one: scedit model train --editors {method}",
            )


def _seen(data: TrainingData) -> dict[str, Any]:
    """What a checkpoint keeps of its cases; texts only where there are any."""
    texts = {"texts": sorted(data.texts)} if data.texts else {}
    return {"keys": sorted(data.keys), "subjects": sorted(data.subjects), **texts}


def _found(trained: TrainingResult) -> dict[str, Any]:
    """What a checkpoint keeps of its training."""
    held_out = {"follow": trained.held_out.follow, "stay": trained.held_out.stay, "step": trained.step}
    return {"held_out": held_out, "seconds": round(trained.seconds)}


def _together(edits: Sequence[Edit]) -> Edit:
    """The changes of several edits as one."""
    if len(edits) == 1:
        return edits[0]
    notes = [dict(e.notes) for e in edits]
    worst = {"norm_ratio": max(n["norm_ratio"] for n in notes), "blow_up": any(n["blow_up"] for n in notes)}
    return WeightEdit(tuple(d for edit in edits for d in edit.deltas or ()), {"requests": notes, **worst})


def _log(step: TrainingStep) -> None:
    log.warning("step %d of %d, %.0f s left", step.done, step.of, step.left)
