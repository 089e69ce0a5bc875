"""FT and FT+L: fine-tuning of an MLP output projection on the new fact (ROME §3.4; Zhu et al. 2020).

Independent edits train side by side, each with its own change of the weight: passes start at the trained layer from
hidden states read once, prompts stand several in a row, and a finished edit leaves the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from evaluation.editors.base import Editor, by_size, check_requests
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.batching import TokenBudget, in_batches
from evaluation.inference.packed_rows import PackedRows, pack_rows
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import last_mlp, logits_at, only_at
from evaluation.models.device_memory import least_free_bytes
from evaluation.models.hooks import capture, replace_output
from evaluation.models.language_model import LM
from evaluation.models.processor.tiled_weights import tiled_products
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
        with tiled_products(self.lm):
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


class TrainingBatch(NamedTuple):
    """Prompts of all groups, group after group, and where passes start.

    ``keys`` are given where the change of the one trained layer can be added behind it: [texts, longest text, inner].
    """

    size: int  # texts a group
    texts: list[tuple[int, ...]]
    rows: PackedRows
    places: list[tuple[int, ...]]  # by text: where its tokens are read
    goals: list[tuple[int, ...]]  # by text: tokens to be predicted, all at its one place or one at each of its places
    layer_input: LayerInput
    keys: Tensor | None

    @classmethod
    def read(
        cls,
        lm: LM,
        groups: list[list[Fact]],
        layers: tuple[int, ...],
        *,
        shifted: bool = False,
        end: int | None = None,
    ) -> TrainingBatch:
        """Tokenise the requests, with an end token where one is given, and run them up to the first trained layer."""
        coded = [lm.encode(fact.fact_prompt, fact.new_object.text) for group in groups for fact in group]
        if end is not None:
            coded = [t._replace(ids=(*t.ids, end)) for t in coded]
        texts = [t.ids[:-1] if shifted else t.ids[: t.first] for t in coded]
        places = [tuple(range(t.first - 1, len(text))) for t, text in zip(coded, texts, strict=True)]
        rows, layer = pack_rows(lm, texts), layers[0]
        run = partial(run_until, lm, ids=rows.ids, mask=rows.mask, places=rows.depths)
        if len(layers) == 1 and layer + 1 < lm.layout.depth and lm.layout.additive and lm.dtype == torch.float32:
            with capture(lm.projection(layer)) as seen:
                layer_input, keys = run(layer + 1), rows.by_text(seen.input.detach())
        else:
            layer_input, keys = run(layer), None
        return cls(len(groups[0]), texts, rows, places, [t.target for t in coded], layer_input, keys)

    def losses(self, lm: LM) -> Tensor:
        """Mean negative log-probability of every group's new objects, [groups]: the mean over its texts' means."""
        reads: list[tuple[int, int]] = []
        owners: list[int] = []  # for every goal: its read, token, group, and part of the group's mean
        goals: list[int] = []
        groups: list[int] = []
        shares: list[float] = []
        for n, (own_places, wanted) in enumerate(zip(self.places, self.goals, strict=True)):
            row, begin = self.rows.begins[n]
            owners += [len(reads) + min(i, len(own_places) - 1) for i in range(len(wanted))]
            reads += [(row, begin + place) for place in own_places]
            goals += wanted
            groups += [n // self.size] * len(wanted)
            shares += [1 / (len(wanted) * self.size)] * len(wanted)
        rows, places = [row for row, _ in reads], [place for _, place in reads]
        with only_at(last_mlp(lm), rows, places):
            logits = logits_at(lm, self.rows.ids, self.rows.mask, rows, places, depths=self.rows.depths)
        index = torch.tensor([owners, goals, groups], device=lm.device)
        picked = logits.log_softmax(-1)[index[0], index[1]] * torch.tensor(shares, device=lm.device)
        return -logits.new_zeros(len(self.texts) // self.size).index_add(0, index[2], picked)

    def select(self, lm: LM, groups: list[int]) -> TrainingBatch:
        """Some of the groups."""
        rows_left = [g * self.size + i for g in groups for i in range(self.size)]
        index = torch.tensor(rows_left, device=lm.device)
        texts = [self.texts[n] for n in rows_left]
        rows = pack_rows(lm, texts)
        longest = rows.shape[1]
        hidden = rows.by_row(self.rows.by_text(self.layer_input.hidden)[index, :longest])
        keys = None if self.keys is None else self.keys[index, :longest]
        places, goals = [self.places[n] for n in rows_left], [self.goals[n] for n in rows_left]
        return TrainingBatch(self.size, texts, rows, places, goals, self.layer_input._replace(hidden=hidden), keys)


class _ChangeProduct(torch.autograd.Function):
    """Keys [groups, places, in] times each group's change [groups, out, in]: [groups, places, out].

    The change's slope is written where the last step's stood: new memory of its size costs more than the product.
    """

    @staticmethod
    def forward(ctx: Any, keys: Tensor, change: Tensor, room: Tensor) -> Tensor:
        ctx.save_for_backward(keys, change)
        ctx.room = room
        return torch.bmm(keys, change.transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor, None]:
        keys, change = ctx.saved_tensors
        of_keys = torch.bmm(slopes[0], change) if ctx.needs_input_grad[0] else None
        return of_keys, torch.bmm(slopes[0].transpose(1, 2), keys, out=ctx.room), None


class DeltaTraining:
    """Changes in training, [groups, out, in] a layer, with Adam's averages."""

    def __init__(self, lm: LM, batch: TrainingBatch, layers: tuple[int, ...], *, lr: float) -> None:
        self.lm, self.batch, self.edited_layers, self.lr = lm, batch, layers, lr
        count = len(batch.texts) // batch.size
        self.groups = list(range(count))
        self.losses: list[float] = []
        shape = (count, lm.layout.width, lm.layout.inner)
        self.deltas = [torch.zeros(shape, device=lm.device, requires_grad=True) for _ in layers]
        self.optimiser = torch.optim.Adam(self.deltas, lr=lr, fused=True)

    def changes(self, n: int) -> list[Tensor]:
        """A group's changes by layer."""
        return [delta.detach()[n].clone() for delta in self.deltas]

    def evaluate(self) -> list[float]:
        """Every group's mean loss; leaves the slopes on the changes."""
        lm, batch = self.lm, self.batch
        with torch.enable_grad(), ExitStack() as hooks:
            if batch.keys is not None:
                hidden = batch.layer_input.hidden + batch.rows.by_row(self._product(batch.keys, self.deltas[0]))
                hooks.enter_context(resume_at(lm, batch.layer_input, hidden))
            else:
                hooks.enter_context(resume_at(lm, batch.layer_input))
                for layer, delta in zip(self.edited_layers, self.deltas, strict=True):
                    hooks.enter_context(replace_output(lm.projection(layer), self._adding(delta)))
            losses = batch.losses(lm)
            slopes = torch.autograd.grad(losses.sum(), self.deltas)
        for delta, slope in zip(self.deltas, slopes, strict=True):
            delta.grad = slope
        self.losses = losses.tolist()
        return self.losses

    def _product(self, keys: Tensor, delta: Tensor) -> Tensor:
        """What every text's change adds behind its keys, [texts, longest text, width]."""
        grouped = keys.float().reshape(len(delta), -1, keys.shape[-1])
        if delta.grad is None:
            delta.grad = torch.empty_like(delta)
        out: Tensor = _ChangeProduct.apply(grouped, delta, delta.grad)  # type: ignore[no-untyped-call]
        return out.reshape(*keys.shape[:2], -1)

    def _adding(self, delta: Tensor) -> Any:
        rows = self.batch.rows
        return lambda keys, out: (out.float() + rows.by_row(self._product(rows.by_text(keys), delta))).to(out.dtype)

    def update(self, bound: float | None) -> None:
        """One step of Adam; entries stay within the bound."""
        self.optimiser.step()
        if bound is not None:
            with torch.no_grad():
                for delta in self.deltas:
                    delta.clamp_(-bound, bound)

    def drop(self, ended: set[int]) -> None:
        """Take finished groups out, once they are many enough to be worth the copying of the others."""
        if len(ended) * 4 < len(self.groups):
            return
        keep = [n for n in range(len(self.groups)) if n not in ended]
        self.groups = [self.groups[n] for n in keep]
        self.losses = [self.losses[n] for n in keep]
        self.batch = self.batch.select(self.lm, keep)
        states = [self.optimiser.state[delta] for delta in self.deltas]
        old, self.deltas = self.deltas, []
        for delta in old:
            smaller = delta.detach()[keep].requires_grad_()
            assert delta.grad is not None
            smaller.grad = delta.grad[keep]
            self.deltas.append(smaller)
        self.optimiser = torch.optim.Adam(self.deltas, lr=self.lr, fused=True)
        for delta, state in zip(self.deltas, states, strict=True):
            rows_of_state = {k: v[keep] if v.ndim == 3 else v for k, v in state.items()}
            if rows_of_state:
                self.optimiser.state[delta] = rows_of_state
