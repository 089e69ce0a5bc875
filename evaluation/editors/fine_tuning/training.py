"""Independent edits trained in one batch: each has its own change of some linear maps and stops by itself.

Passes start at the lowest trained layer. An edit whose loss is low enough is taken out of the batch.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from evaluation.editors.base import GroupEditor, by_size, norm_notes
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta, WeightDelta
from evaluation.inference.batching import default_budget, in_batches
from evaluation.models.devices import least_free_bytes, send
from evaluation.models.hooks import home_of, replace_output
from evaluation.models.layout import linear_shape
from evaluation.models.packed_weights import packed_weights
from schemas.core.errors import ModelError

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

CPU_BYTES = 2**30
"""Memory for changes in training on a CPU."""

SHARE = 0.35
"""Share of a CUDA device's free memory for the same."""

COPIES = 6
"""Tensors of a change's size while it trains: itself, its gradient, Adam's two averages, and two for a selection."""


class DenseChange:
    """Trained changes of every entry of one weight, one for each edit, zero at first.

    Attributes:
        map: Name of the linear map.
        factors: What is trained: the changes, [edits, out, in].
    """

    def __init__(self, lm: LM, name: str, edits: int) -> None:
        self.map, module = name, lm.module(name)
        shape = (edits, *(linear_shape(module) or ()))
        self.factors = [torch.zeros(shape, device=home_of(module), requires_grad=True)]

    def added(self, keys: Tensor) -> Tensor:
        """What the changes add to the map's output: [edits, positions, in] -> [edits, positions, out]."""
        added: Tensor = _DenseProduct.apply(keys, self.factors[0])  # type: ignore[no-untyped-call]
        return added

    def delta(self, n: int) -> WeightDelta:
        """The change of one edit as data."""
        return DenseDelta(f"{self.map}.weight", self.factors[0].detach()[n].clone())


class _DenseProduct(torch.autograd.Function):
    """Keys [edits, positions, in] times changes [edits, out, in].

    The gradient of the changes is added to their ``grad`` in place: on a CPU a new tensor of that size takes several
    times as long as the product.
    """

    @staticmethod
    def forward(ctx: Any, keys: Tensor, factor: Tensor) -> Tensor:
        ctx.keys, ctx.factor = keys, factor
        return torch.bmm(keys, factor.transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,), factor = gradients, ctx.factor
        if factor.grad is None:
            factor.grad = torch.zeros_like(factor)
        factor.grad.baddbmm_(gradient.transpose(1, 2), ctx.keys)
        return torch.bmm(gradient, factor), None


class LowRankChange:
    """Trained changes ``scale * up @ down`` of one weight, one for each edit (LoRA).

    Args:
        lm: The model.
        name: Name of the linear map, kept as ``map``.
        edits: Number of edits.
        start: ``down`` [rank, in] and ``up`` [out, rank], with which all edits start.
        scale: Factor of their product.
    """

    def __init__(self, lm: LM, name: str, edits: int, *, start: Sequence[Tensor], scale: float) -> None:
        self.map, self.scale, self._device, home = name, scale, lm.device, home_of(lm.module(name))
        copies = [factor.detach().to(home).float().expand(edits, *factor.shape).clone() for factor in start]
        self.factors = [factor.requires_grad_() for factor in copies]  # [edits, rank, in], [edits, out, rank]

    def added(self, keys: Tensor) -> Tensor:
        """As ``DenseChange.added``."""
        down, up = self.factors
        return self.scale * torch.bmm(torch.bmm(keys, down.transpose(1, 2)), up.transpose(1, 2))

    def delta(self, n: int) -> WeightDelta:
        """The change of one edit as data."""
        down, up = (factor.detach()[n].to(self._device) for factor in self.factors)
        return LowRankDelta(f"{self.map}.weight", up * self.scale, down.T.contiguous())


Change = DenseChange | LowRankChange


def factors_of(changes: Sequence[Change]) -> list[Tensor]:
    """All that is trained."""
    return [factor for change in changes for factor in change.factors]


class Trained(NamedTuple):
    """Changes of one edit, its loss with them in nats a token, and how many updates were made."""

    deltas: tuple[WeightDelta, ...]
    loss: float
    steps: int


def as_edits(lm: LM, trained: Sequence[Trained]) -> list[WeightEdit]:
    """Edits with their notes."""
    notes = norm_notes(lm.model, [one.deltas for one in trained])
    return [
        WeightEdit(one.deltas, {"loss": one.loss, "steps": one.steps, **note})
        for one, note in zip(trained, notes, strict=True)
    ]


def losses_with(batch: TargetBatch, changes: Sequence[Change], *, edits: int) -> Tensor:
    """Losses of a batch's edits under their own changes, [edits]: the mean over an edit's texts.

    Args:
        batch: Texts of the edits, edit after edit, equally many each.
        changes: What is trained, each with a change for every edit.
        edits: Their number.

    Raises:
        ModelError: the model does not call one of the maps.
    """
    called: set[str] = set()

    def add(change: Change, keys: Tensor, output: Tensor) -> Tensor:
        called.add(change.map)
        added = change.added(keys.float().reshape(edits, -1, keys.shape[-1]))
        return (output.float() + added.reshape(output.shape)).to(output.dtype)

    with ExitStack() as hooks:
        for change in changes:
            hooks.enter_context(replace_output(batch.lm.module(change.map), partial(add, change)))
        losses = batch.nll().reshape(edits, -1).mean(1)
    for change in changes:
        if change.map not in called:
            raise ModelError(
                f"the model does not call {change.map}, so a change of it cannot be trained",
                where=batch.lm.name,
                fix="name other maps with modules",
            )
    return losses


def train(
    batch: TargetBatch,
    changes: Sequence[Change],
    optimiser: torch.optim.Optimizer,
    *,
    edits: int,
    steps: int,
    stop_below: float,
    bound: float | None = None,
) -> list[Trained]:
    """Train every edit of a batch until its own loss is low enough.

    Args:
        batch: Texts of the edits, edit after edit, equally many each.
        changes: What is trained, each with a change for every edit.
        optimiser: Of their factors.
        edits: Their number.
        steps: The most updates of an edit.
        stop_below: Loss (nats a token) at which an edit gets no further update.
        bound: Greatest size of an entry of a factor; None: any.
    """
    done: dict[int, Trained] = {}
    left, size = list(range(edits)), len(batch.texts) // edits  # edits in the batch, and texts of each
    for step in range(steps + 1):
        with torch.set_grad_enabled(step < steps):
            losses = losses_with(batch, changes, edits=len(left))
        for i, (n, loss) in enumerate(zip(left, losses.tolist(), strict=True)):
            if n not in done and (loss < stop_below or step == steps):
                done[n] = Trained(tuple(change.delta(i) for change in changes), loss, step)
        stay = [i for i, n in enumerate(left) if n not in done]
        if not stay:
            break
        losses.sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)  # the gradients' memory is used again
        if bound is not None:
            with torch.no_grad():
                for factor in factors_of(changes):
                    factor.clamp_(-bound, bound)
        if len(stay) <= 0.75 * len(left):  # otherwise copying the others costs more than it saves
            left = [left[i] for i in stay]
            batch = batch.select([i * size + n for i in stay for n in range(size)])
            _select(changes, optimiser, stay)
    return [done[n] for n in sorted(done)]


def _select(changes: Sequence[Change], optimiser: torch.optim.Optimizer, stay: Sequence[int]) -> None:
    """Drop the other edits from what is trained and from the optimiser's averages."""
    for change in changes:
        for n, factor in enumerate(change.factors):
            rows, state = send(stay, factor.device), optimiser.state.pop(factor)
            change.factors[n] = factor.detach()[rows].requires_grad_()
            optimiser.state[change.factors[n]] = {
                name: value[rows] if value.shape == factor.shape else value for name, value in state.items()
            }
    optimiser.param_groups[0]["params"] = factors_of(changes)


def train_in_memory(
    lm: LM,
    edits: Sequence[list[TargetText]],
    run: Callable[[list[list[TargetText]]], list[Trained]],
    *,
    bytes_an_edit: int,
) -> list[Trained]:
    """Train edits of like length together, as many as memory holds.

    Args:
        lm: The model.
        edits: Texts of each edit.
        run: Trains some of them.
        bytes_an_edit: Size of one edit's changes.
    """
    budget = default_budget(lm, gradients=True)
    least = max(1, budget.tokens // most_edits(lm, bytes_an_edit))  # tokens that each counts for, so that no more fit
    return in_batches(edits, lambda texts: max(least, sum(len(text.ids) for text in texts)), run, budget)


def most_edits(lm: LM, bytes_an_edit: int) -> int:
    """How many edits' changes fit into memory while they are trained; at least 1."""
    free = int(SHARE * least_free_bytes(lm.devices)) if lm.device.type == "cuda" else CPU_BYTES
    return max(1, free // (COPIES * bytes_an_edit))


class BatchTraining(GroupEditor):
    """Gradient descent on changes of linear maps; independent edits train in one batch, as many as memory holds.

    The options have ``steps`` and ``stop_below``. Passes start at the lowest block that they name.
    """

    @abstractmethod
    def text(self, request: Any) -> TargetText:
        """What is learnt of a request."""

    @abstractmethod
    def changes(self, edits: int) -> list[Change]:
        """The trained changes of so many edits."""

    @abstractmethod
    def optimiser(self, factors: Sequence[Tensor]) -> torch.optim.Optimizer:
        """The optimiser of the changes' factors."""

    def bound(self) -> float | None:
        """The most that an entry of the weight may change; None: any."""
        return None

    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """Groups of one size train in one batch."""
        return by_size(groups, self.make_edits)

    def make_edits(self, groups: Sequence[Sequence[Any]]) -> list[WeightEdit]:
        """One edit a group; groups are of one size."""
        texts = [[self.text(request) for request in group] for group in groups]
        return as_edits(self.lm, train_in_memory(self.lm, texts, self._train, bytes_an_edit=self.bytes_an_edit))

    def _train(self, edits: list[list[TargetText]]) -> list[Trained]:
        p, changes = self.params, self.changes(len(edits))
        with packed_weights(self.lm):
            batch = TargetBatch(self.lm, [text for texts in edits for text in texts], self.first_layer or 0)
            optimiser, bound = self.optimiser(factors_of(changes)), self.bound()
            return train(
                batch, changes, optimiser, edits=len(edits), steps=p.steps, stop_below=p.stop_below, bound=bound
            )


class CutTexts:
    """Counts the texts of a method that are longer than its model reads, and says so once.

    Args:
        method: Its name.
        lm: The model; one that tells no greatest length cuts nothing.
    """

    def __init__(self, method: str, lm: LM) -> None:
        self.method, self.lm, self._said = method, lm, False

    def count(self, texts: Sequence[str]) -> int:
        """How many of the texts are cut; a warning says it the first time that there are any."""
        limit = self.lm.limit
        lengths = [len(ids) for ids in (self.lm.token_ids(text) for text in texts)] if limit else []
        cut = [length for length in lengths if limit and length > limit]
        if cut and not self._said:
            self._said = True
            log.warning(
                "'%s' learns the first %d tokens of longer texts, such as one of %d: the model reads no more; notes of "
                "edits count them as texts_cut",
                self.method, limit, max(cut),
            )  # fmt: skip
        return len(cut)

    def note(self, texts: Sequence[str]) -> dict[str, int]:
        """``texts_cut`` for an edit's notes, where texts are cut at all."""
        count = self.count(texts)
        return {"texts_cut": count} if count else {}
