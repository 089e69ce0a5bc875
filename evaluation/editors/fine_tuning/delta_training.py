"""Training of changes of an MLP output projection side by side, each request or group of them with its own.

Passes start at the trained layer from hidden states read once, prompts stand several in a row, and a finished group
leaves the batch. Where one layer's change is added behind its keys, its slope is one product and is used at once:
change after change goes through Adam while it is at hand, and is multiplied by its keys for the next step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam

from evaluation.inference.packed_rows import PackedRows, pack_rows
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import Logprobs, last_mlp, logprobs_at, only_at
from evaluation.models.hooks import capture, replace_output
from evaluation.models.language_model import LM
from schemas.facts import Fact

BETAS, EPS = (0.9, 0.999), 1e-8
"""Adam's, as in PyTorch."""


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

    @property
    def reads(self) -> tuple[list[int], list[int]]:
        """Rows and places where logits are read, text after text."""
        begins = [(*self.rows.begins[n], place) for n, own in enumerate(self.places) for place in own]
        return [row for row, _, _ in begins], [begin + place for _, begin, place in begins]

    def logprobs(self, lm: LM) -> Logprobs:
        """A pass of the model's own: log-probabilities after the places that are read."""
        rows, places = self.reads
        with only_at(last_mlp(lm), rows, places):
            return logprobs_at(lm, self.rows.ids, self.rows.mask, rows, places, depths=self.rows.depths)

    def losses(self, logprobs: Logprobs) -> Tensor:
        """Mean negative log-probability of every group's new objects, [groups]: the mean over its texts' means."""
        read = 0
        owners: list[int] = []  # for every goal: its read, token, group, and part of the group's mean
        goals: list[int] = []
        groups: list[int] = []
        shares: list[float] = []
        for n, (own_places, wanted) in enumerate(zip(self.places, self.goals, strict=True)):
            owners += [read + min(i, len(own_places) - 1) for i in range(len(wanted))]
            read += len(own_places)
            goals += wanted
            groups += [n // self.size] * len(wanted)
            shares += [1 / (len(wanted) * self.size)] * len(wanted)
        device = self.layer_input.hidden.device
        index = torch.tensor([owners, goals, groups], device=device)
        picked = logprobs(index[0], index[1]) * torch.tensor(shares, device=device)
        return -picked.new_zeros(len(self.texts) // self.size).index_add(0, index[2], picked)

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


class DeltaTraining:
    """Changes in training, [groups, out, in] a layer, with Adam's averages."""

    def __init__(self, lm: LM, batch: TrainingBatch, layers: tuple[int, ...], *, lr: float) -> None:
        self.lm, self.batch, self.edited_layers, self.lr = lm, batch, layers, lr
        count = len(batch.texts) // batch.size
        self.groups = list(range(count))
        self.losses: list[float] = []
        shape = (count, lm.layout.width, lm.layout.inner)
        self.deltas = [torch.zeros(shape, device=lm.device) for _ in layers]
        self._averages = [(torch.zeros_like(delta), torch.zeros_like(delta)) for delta in self.deltas]
        self._slopes: list[Tensor] = []  # of the changes; with keys, of what they add: [groups, places, out]
        self._added: tuple[TrainingBatch, Tensor] | None = None  # what changes add, and in which batch
        self._room: Tensor | None = None
        self._updates = torch.zeros((), device=lm.device)

    def changes(self, n: int) -> list[Tensor]:
        """A group's changes by layer."""
        return [delta[n].clone() for delta in self.deltas]

    def evaluate(self) -> list[float]:
        """Every group's mean loss; keeps what the slopes of the changes are made of."""
        lm, batch = self.lm, self.batch
        with torch.enable_grad(), ExitStack() as hooks:
            if batch.keys is not None:
                leaves = [self._added_in(batch).requires_grad_()]
                added = leaves[0].reshape(*batch.keys.shape[:2], -1)
                logprobs = self._logprobs(batch.layer_input.hidden + batch.rows.by_row(added))
            else:
                leaves = [delta.detach().requires_grad_() for delta in self.deltas]
                hooks.enter_context(resume_at(lm, batch.layer_input))
                for layer, leaf in zip(self.edited_layers, leaves, strict=True):
                    hooks.enter_context(replace_output(lm.projection(layer), self._adding(leaf)))
                logprobs = batch.logprobs(lm)
            losses = batch.losses(logprobs)
            self._slopes = [slope.contiguous() for slope in torch.autograd.grad(losses.sum(), leaves)]
        self.losses = losses.tolist()
        return self.losses

    def _logprobs(self, hidden: Tensor) -> Logprobs:
        """The same where the batch starts above the trained layer, with states that the changes moved."""
        lm, batch = self.lm, self.batch
        with resume_at(lm, batch.layer_input, hidden):
            return batch.logprobs(lm)

    def _grouped(self, keys: Tensor) -> Tensor:
        """Keys of every text, [texts, longest text, in], as [groups, places, in]."""
        return keys.float().reshape(len(self.groups), -1, keys.shape[-1])

    def _added_in(self, batch: TrainingBatch) -> Tensor:
        """What the changes add behind the keys of a batch, [groups, places, out]."""
        if self._added is not None and self._added[0] is batch:
            return self._added[1]
        assert batch.keys is not None
        return torch.bmm(self._grouped(batch.keys), self.deltas[0].transpose(1, 2))

    def _adding(self, delta: Tensor) -> Any:
        rows = self.batch.rows

        def add(keys: Tensor, out: Tensor) -> Tensor:
            texts = rows.by_text(keys)
            added = torch.bmm(self._grouped(texts), delta.transpose(1, 2)).reshape(*texts.shape[:2], -1)
            return (out.float() + rows.by_row(added)).to(out.dtype)

        return add

    def update(self, bound: float | None) -> None:
        """One step of Adam; entries stay within the bound."""
        keys = None if self.batch.keys is None else self._grouped(self.batch.keys)
        added = [self._update(layer, some, keys, bound) for layer in range(len(self.deltas)) for some in self._parts()]
        self._updates = self._updates + 1
        self._added = None if keys is None else (self.batch, torch.cat(added))

    def _parts(self) -> Iterator[slice]:
        """Changes that are updated together: one on a CPU, whose caches hold no more; else all, in one launch."""
        step = 1 if self.lm.device.type == "cpu" else len(self.groups)
        return (slice(n, n + step) for n in range(0, len(self.groups), step))

    @torch.no_grad()
    def _update(self, layer: int, some: slice, keys: Tensor | None, bound: float | None) -> Tensor:
        """Update some changes; what they add from now on, or nothing where there are no keys."""
        delta, slope = self.deltas[layer][some], self._slopes[layer][some]
        if keys is not None:
            if self._room is None or self._room.shape != delta.shape:
                self._room = torch.empty_like(delta)
            slope = torch.bmm(slope.transpose(1, 2), keys[some], out=self._room)
        first, second = (average[some] for average in self._averages[layer])
        state, (beta1, beta2) = [self._updates.clone()], BETAS
        adam(
            [delta], [slope], [first], [second], [], state, fused=True, amsgrad=False, beta1=beta1, beta2=beta2,
            lr=self.lr, weight_decay=0.0, eps=EPS, maximize=False,
        )  # fmt: skip
        if bound is not None:
            delta.clamp_(-bound, bound)
        return delta.new_empty(0) if keys is None else torch.bmm(keys[some], delta.transpose(1, 2))

    def drop(self, ended: set[int]) -> None:
        """Take finished groups out, once they are many enough to be worth the copying of the others."""
        if len(ended) * 4 < len(self.groups):
            return
        keep = [n for n in range(len(self.groups)) if n not in ended]
        self.groups = [self.groups[n] for n in keep]
        self.losses = [self.losses[n] for n in keep]
        longest, size = self.batch.rows.shape[1], self.batch.size
        self.batch = self.batch.select(self.lm, keep)
        self.deltas = [delta[keep] for delta in self.deltas]
        self._averages = [(first[keep], second[keep]) for first, second in self._averages]
        self._slopes = [slope[keep] for slope in self._slopes]
        if self.batch.keys is not None:  # places beyond the longest text that is left are padding
            by_text = self._slopes[0].reshape(len(keep), size, longest, -1)[:, :, : self.batch.rows.shape[1]]
            self._slopes = [by_text.reshape(len(keep), -1, by_text.shape[-1])]
