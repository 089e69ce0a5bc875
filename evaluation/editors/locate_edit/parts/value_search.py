"""Values: the vector which, written at the subject's last token, makes the model say the new object (ROME Eq. 4).

The search is vectorised: many requests optimise side by side, each with its own vector and its own end. Nothing is
computed twice: a pass starts at the changed layer from hidden states read once, what stands before the subject's last
token comes from a key-value cache, the head runs where the loss is read, and a finished request leaves the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from evaluation.editors.locate_edit.parts.search_losses import losses_of
from evaluation.editors.locate_edit.parts.search_passes import Stems, alike, price
from evaluation.editors.locate_edit.parts.search_rows import SearchRow, cost_of, essence_reads, groups, rows_of
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import last_mlp, logits_at, only_at
from evaluation.inference.prefix_cache import Prefix, can_share
from evaluation.models.device_memory import free_memory, out_of_memory
from evaluation.models.hooks import capture, replace_output, stopping_after
from evaluation.models.language_model import LM
from evaluation.models.processor.tiled_weights import tiled_products
from evaluation.models.transfers import send
from schemas.facts import Fact

Place = Literal["mlp", "block"]
"""Where the value stands: what the MLP's output projection returns (ROME), or what the whole block does (MEMIT)."""


@dataclass(frozen=True)
class SearchSettings:
    """How the value is searched for.

    Attributes:
        steps: Evaluations of the loss; the last one makes no update, so there are at most ``steps - 1`` updates.
        lr: Adam's learning rate.
        kl_weight: Weight of the divergence on "{} is a".
        weight_decay: Weight of |δ|/|v₀|².
        clamp: δ is kept within ``clamp``·|v₀|.
        stop_below: Loss at which the search ends.
    """

    steps: int
    lr: float
    kl_weight: float
    weight_decay: float
    clamp: float
    stop_below: float

    @classmethod
    def of(cls, options: Any) -> SearchSettings:
        """The settings among a method's options, which have a field of the same name for each."""
        return cls(
            steps=options.steps,
            lr=options.lr,
            kl_weight=options.kl_weight,
            weight_decay=options.weight_decay,
            clamp=options.clamp,
            stop_below=options.stop_below,
        )


class SearchedValue(NamedTuple):
    """A found value.

    Attributes:
        target: v*, [width].
        initial: v₀, the unedited output at the bare prompt's subject, [width].
        loss: Last evaluated loss.
        nll: The part of it that concerns the new object, mean over tokens and templates.
        updates: Number of updates made.
    """

    target: Tensor
    initial: Tensor
    loss: float
    nll: float
    updates: int


class _SearchBatch(NamedTuple):
    """Rows of one pass, as tensors; places count from the end of the prefix where there is one."""

    rows: list[SearchRow]
    ids: Tensor
    mask: Tensor
    prefix: Prefix | None
    layer_input: LayerInput
    requests: Tensor  # [rows]
    subjects: Tensor  # [rows]
    at: Tensor  # [reads, 2]: row and place of every read
    reads: tuple[tuple[int, ...], tuple[int, ...]]  # the same on the host: rows, places
    lengths: tuple[int, ...]  # tokens of every row, padding apart
    essence: Tensor  # which reads are of the essence
    goals: Tensor  # [reads], -1 where the essence is read
    shares: Tensor  # [reads]
    held: Tensor | None  # log-probabilities of the unedited model at the essence reads


def search(
    lm: LM, layer: int, fact: Fact, templates: Sequence[str], *, settings: SearchSettings, place: Place = "mlp"
) -> SearchedValue:
    """``search_values`` for one request."""
    return search_values(lm, layer, [fact], templates, settings=settings, place=place)[0]


def search_values(
    lm: LM,
    layer: int,
    requests: Sequence[Fact],
    templates: Sequence[str],
    *,
    settings: SearchSettings,
    place: Place = "mlp",
    budget: TokenBudget | None = None,
) -> list[SearchedValue]:
    """Find v* of every request by Adam on δ = v* − v₀, added at the subject's last token in every row.

    A request's loss is the mean negative log-probability of the new object's tokens over the templates, plus the
    divergence KL(now ‖ before) at the subject's last token of "{} is a", plus the decay of δ. Its search ends below
    ``settings.stop_below`` or at the last evaluation, before an update (as published), whatever the others do.

    Args:
        lm: The model.
        layer: Whose output is changed, from 0.
        requests: Facts with a new object.
        templates: Context templates, the first a bare ``{}``.
        settings: Options of the search.
        place: Which output of the layer.
        budget: The most tokens in one pass; one is made for the device where it is not given.
    """
    budget = budget or default_budget(lm, gradients=True)
    by_request: dict[int, SearchedValue] = {}
    with tiled_products(lm):
        for group in groups([rows_of(lm, i, fact, templates) for i, fact in enumerate(requests)], budget):
            by_request.update(_ValueSearch(lm, layer, group, settings=settings, place=place, budget=budget).run())
    return [by_request[i] for i in range(len(requests))]


class _ValueSearch:
    """The search for one group of requests."""

    def __init__(
        self, lm: LM, layer: int, rows: list[SearchRow], *, settings: SearchSettings, place: Place, budget: TokenBudget
    ) -> None:
        self.lm, self.layer, self.settings, self.place, self.budget = lm, layer, settings, place, budget
        self.requests = sorted({row.request for row in rows})
        self.position = {request: n for n, request in enumerate(self.requests)}
        self.module = lm.projection(layer) if place == "mlp" else lm.block(layer)
        # Where δ reaches the next block as it is, passes start there. Narrow types round on the way, so they go it.
        whole = place == "block" or (lm.layout.additive and lm.dtype == torch.float32)
        self.after = whole and layer + 1 < lm.layout.depth
        self.last = last_mlp(lm) if layer + 1 < lm.layout.depth else []  # a change there is not where it is read
        self.start = torch.zeros(len(self.requests), lm.layout.width, device=lm.device)
        self.batches: list[_SearchBatch] = []
        stems = None
        if can_share(lm, max(len(row.ids) for row in rows)):
            beginnings = [row.ids[: row.subject] for row in rows]
            stems = Stems(lm, [row.template for row in rows], beginnings, max_tokens=budget.tokens)
        for places in alike([len(row.ids) - row.subject for row in rows], budget.tokens, each=price(lm)):
            in_batches([rows[i] for i in places], cost_of, partial(self._prepare, stems), budget)

    def run(self) -> dict[int, SearchedValue]:
        """Values by number of the request."""
        settings, count = self.settings, len(self.requests)
        delta = torch.zeros_like(self.start, requires_grad=True)
        optimiser, sizes = torch.optim.Adam([delta], lr=settings.lr), self.start.norm(dim=1)
        by_request: dict[int, SearchedValue] = {}
        open_, left = torch.ones(count, dtype=torch.bool, device=self.lm.device), set(range(count))
        for step in range(settings.steps):
            last = step == settings.steps - 1
            nll, kl, slope = self._evaluate(delta.detach(), gradients=not last)
            with torch.enable_grad():
                decay = settings.weight_decay * delta.norm(dim=1) / sizes**2
                (pull,) = torch.autograd.grad(decay.sum(), delta)
            loss = (nll + settings.kl_weight * kl + decay).detach()
            losses, nlls = torch.stack([loss, nll]).tolist()  # the one wait of a step
            ended = [n for n in sorted(left) if last or losses[n] < settings.stop_below]
            for n in ended:
                target = (self.start[n] + delta[n]).detach()
                by_request[self.requests[n]] = SearchedValue(target, self.start[n].clone(), losses[n], nlls[n], step)
            left -= set(ended)
            if not left:
                break
            if ended:
                open_ = send([int(n in left) for n in range(count)], self.lm.device).bool()
                self._drop(left)
            delta.grad = (slope + pull) * open_[:, None]
            optimiser.step()
            with torch.no_grad():
                norms, limits = delta.norm(dim=1), settings.clamp * sizes
                delta.mul_(torch.where(norms > limits, limits / norms, 1.0)[:, None])
        return by_request

    def _evaluate(self, delta: Tensor, *, gradients: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Mean negative log-probability and divergence of every request, and their slope with respect to δ."""
        nll, kl = delta.new_zeros(len(delta)), delta.new_zeros(len(delta))
        slope = torch.zeros_like(delta)
        waiting, done = list(reversed(self.batches)), []
        while waiting:
            batch = waiting.pop()
            try:
                batch, values, divergence, pull = self._pass(batch, delta, gradients=gradients)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or len(batch.rows) == 1:
                    raise
                values = None
            if values is None:
                free_memory()
                self.budget.shrink()
                half = len(batch.rows) // 2
                waiting += [self._keep(batch, list(range(half, len(batch.rows)))), self._keep(batch, list(range(half)))]
                continue
            done.append(batch)
            owners = batch.requests[batch.at[:, 0]]
            nll.index_add_(0, owners, values)
            kl.index_add_(0, owners, divergence)
            slope.index_add_(0, batch.requests, pull)
        self.batches = done
        return nll, kl, slope

    def _pass(
        self, batch: _SearchBatch, delta: Tensor, *, gradients: bool
    ) -> tuple[_SearchBatch, Tensor | None, Tensor, Tensor]:
        """One pass over a batch: shares of nll and divergence by read, slope by row. Changes nothing."""
        lm, every = self.lm, torch.arange(len(batch.rows), device=self.lm.device)
        request_deltas = delta[batch.requests].requires_grad_(gradients)

        def add(out: Tensor) -> Tensor:
            changed = out.clone()
            changed[every, batch.subjects] = (out[every, batch.subjects].float() + request_deltas).to(out.dtype)
            return changed

        with torch.set_grad_enabled(gradients), ExitStack() as hooks:
            if self.after:
                hooks.enter_context(resume_at(lm, batch.layer_input, add(batch.layer_input.hidden)))
            else:
                hooks.enter_context(resume_at(lm, batch.layer_input))
                hooks.enter_context(replace_output(self.module, lambda _, out: add(out)))
            rows, places = batch.reads
            hooks.enter_context(only_at(self.last, rows, places))
            logits = logits_at(lm, batch.ids, batch.mask, rows, places, after=batch.prefix)
            values, divergence, now = losses_of(logits, batch.goals, batch.shares, batch.essence, batch.held)
            if batch.held is None:
                batch = batch._replace(held=now)
            pull = torch.zeros_like(request_deltas)
            if gradients:
                (pull,) = torch.autograd.grad((values + self.settings.kl_weight * divergence).sum(), request_deltas)
        return batch, values.detach(), divergence.detach(), pull

    def _drop(self, left: set[int]) -> None:
        """Take the rows of finished requests out of the batches."""
        batches = []
        for batch in self.batches:
            rows = [i for i, row in enumerate(batch.rows) if self.position[row.request] in left]
            if len(rows) == len(batch.rows):
                batches.append(batch)
            elif rows:
                batches.append(self._keep(batch, rows))
        self.batches = batches

    def _keep(self, batch: _SearchBatch, rows: list[int]) -> _SearchBatch:
        """Some of a batch's rows."""
        device, new = self.lm.device, {row: n for n, row in enumerate(rows)}
        index = send(rows, device)
        stay = [n for n, row in enumerate(batch.reads[0]) if row in new]
        reads = tuple(new[batch.reads[0][n]] for n in stay), tuple(batch.reads[1][n] for n in stay)
        essence = [row for row in batch.reads[0] if not batch.rows[row].goals]
        held = None if batch.held is None else batch.held[send([n for n, r in enumerate(essence) if r in new], device)]
        lengths = tuple(batch.lengths[row] for row in rows)
        longest, reads_left = max(lengths), send(stay, device)  # padding that only the others needed goes with them
        some = [batch.rows[i] for i in rows]
        return _SearchBatch(
            some,
            batch.ids[index, :longest],
            batch.mask[index, :longest],
            None if batch.prefix is None else batch.prefix.select(index),
            batch.layer_input._replace(hidden=batch.layer_input.hidden[index, :longest]),
            batch.requests[index],
            batch.subjects[index],
            send(list(zip(*reads, strict=True)), device),
            reads,
            lengths,
            essence_reads(some, reads[0], device),
            batch.goals[reads_left],
            batch.shares[reads_left],
            held,
        )

    def _prepare(self, stems: Stems | None, rows: list[SearchRow]) -> list[SearchRow]:
        self.batches.append(self._batch(rows, stems))
        return rows

    def _batch(self, rows: list[SearchRow], stems: Stems | None) -> _SearchBatch:
        lm, prefix = self.lm, None
        pairs = [(row, 0 if stems is None else row.subject) for row in rows]
        if stems is not None and any(begin for _, begin in pairs):
            prefix = stems.continued([row.template for row in rows], [row.ids[:begin] for row, begin in pairs])
        ids, mask = lm.pad([row.ids[b:] for row, b in pairs])
        at, goals, shares = [], [], []
        for r, (row, begin) in enumerate(pairs):
            for place, token in row.goals or ((row.subject, -1),):
                at.append((r, place - begin))
                goals.append(token)
                shares.append(row.share)
        requests = torch.tensor([self.position[row.request] for row in rows], device=lm.device)
        subjects = torch.tensor([row.subject - b for row, b in pairs], device=lm.device)
        layer_input, out = self._read(ids, mask, prefix)
        bare = [i for i, row in enumerate(rows) if row.template == 0]
        self.start[requests[bare]] = out[bare, subjects[bare]].float()
        return _SearchBatch(
            rows,
            ids,
            mask,
            prefix,
            layer_input,
            requests,
            subjects,
            torch.tensor(at, device=lm.device),
            (tuple(r for r, _ in at), tuple(place for _, place in at)),
            tuple(len(row.ids) - begin for row, begin in pairs),
            essence_reads(rows, [r for r, _ in at], lm.device),
            torch.tensor(goals, device=lm.device),
            torch.tensor(shares, device=lm.device),
            None,
        )

    @torch.no_grad()
    def _read(self, ids: Tensor, mask: Tensor, prefix: Prefix | None) -> tuple[LayerInput, Tensor]:
        """Where passes are to start, and the unedited output that is to be changed: [rows, positions, width]."""
        lm, block = self.lm, self.lm.block(self.layer)
        before = run_until(lm, self.layer, ids, mask, after=prefix)
        alone: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
        more = alone if prefix is None else prefix.arguments(mask, limit=lm.limit)
        with resume_at(lm, before), capture(self.module) as seen, capture(block) as whole, stopping_after(block):
            lm.module(lm.layout.base)(input_ids=ids, **more)
        return (LayerInput(self.layer + 1, whole.output, whole.tuples) if self.after else before), seen.output
