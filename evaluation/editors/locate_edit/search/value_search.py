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

from evaluation.editors.locate_edit.search.batches import SearchBatch, SearchReads, apart, keep_rows, make_batch
from evaluation.editors.locate_edit.search.losses import losses_of
from evaluation.editors.locate_edit.search.passes import LENGTH, Stems, alike, price
from evaluation.editors.locate_edit.search.rows import SearchRow, cost_of, groups, rows_of
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import last_mlp, logits_at, only_at
from evaluation.inference.prefix_cache import Prefix, can_share
from evaluation.models.device_memory import free_memory, out_of_memory
from evaluation.models.hooks import capture, replace_output, stopping_after
from evaluation.models.language_model import LM
from evaluation.models.processor.joint_pass import RowGroup, UpperRows, joint_states
from evaluation.models.processor.tiled_weights import tiled_products
from evaluation.models.processor.upper_pass import UpperBlocks, UpperPass
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
    budget = budget or default_budget(lm, gradients=True, blocks=lm.layout.depth - layer)
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
        self.batches: list[SearchBatch] = []
        self.joins = True  # whether batches whose way is known may go together
        stems = None
        if can_share(lm, max(len(row.ids) for row in rows)):
            beginnings = [row.ids[: row.subject] for row in rows]
            stems = Stems(lm, [row.template for row in rows], beginnings, max_tokens=budget.tokens)
        each = LENGTH if self.after and UpperBlocks(lm, layer + 1).halves else price(lm)
        for places in alike([len(row.ids) - row.subject for row in rows], budget.tokens, each=each):
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
        waiting, done = list(reversed(self._passes())), list[SearchBatch]()
        while waiting:
            batches, costs, short = waiting.pop(), None, False
            try:
                costs = self._pass(batches, delta, gradients=gradients)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or sum(len(batch.rows) for batch in batches) == 1:
                    raise
                short = True
            if short:  # outside the handler, whose traceback would keep the failed pass's tensors alive
                free_memory()
                self.budget.shrink()
            if costs is None:
                waiting += reversed(apart(batches))
                continue
            done += costs.batches
            nll.index_add_(0, costs.reads.owners, costs.values)
            kl.index_add_(0, costs.reads.owners, costs.divergence)
            slope.index_add_(0, costs.reads.requests, costs.pull)
        self.batches = done
        return nll, kl, slope

    def _passes(self) -> list[list[SearchBatch]]:
        """The passes of a step: batches that may go together do, up to the budget; each other one goes alone."""
        passes, filled = list[list[SearchBatch]](), self.budget.tokens
        for batch in self.batches:
            joins = self.joins and batch.upper is not None
            filled += batch.ids.numel()
            if not joins or filled > self.budget.tokens:
                passes.append([])
                filled = batch.ids.numel() if joins else self.budget.tokens
            passes[-1].append(batch)
        return passes

    def _pass(self, batches: list[SearchBatch], delta: Tensor, *, gradients: bool) -> _Costs | None:
        """One pass over batches; None where several cannot go together. Changes none of them."""
        reads = SearchReads.of(batches)
        row_deltas = delta[reads.requests].requires_grad_(gradients)
        with torch.set_grad_enabled(gradients):
            logits = self._joint_logits(batches, row_deltas)
            if logits is None:
                if len(batches) > 1:
                    return None
                logits, upper = self._own_logits(batches[0], row_deltas)
                batches = [batches[0]._replace(upper=upper, tried=True)]
            values, divergence, now = losses_of(logits, reads.goals, reads.shares, reads.essence, reads.held)
            if reads.held is None:
                batches = [batches[0]._replace(held=now)]
            pull = torch.zeros_like(row_deltas)
            if gradients:
                (pull,) = torch.autograd.grad((values + self.settings.kl_weight * divergence).sum(), row_deltas)
        return _Costs(batches, reads, values.detach(), divergence.detach(), pull)

    def _joint_logits(self, batches: list[SearchBatch], row_deltas: Tensor) -> Tensor | None:
        """Logits at the reads by one pass without padding; None where that is not to be."""
        groups, begin = list[RowGroup](), 0
        for batch in batches:
            if batch.upper is None or not self.joins:
                return None
            hidden = _changed(batch, row_deltas[begin : begin + len(batch.rows)], batch.layer_input.hidden)
            past = None if batch.prefix is None else batch.prefix.past
            groups.append(RowGroup(batch.upper, hidden, past, batch.reads))
            begin += len(batch.rows)
        states = joint_states(groups)
        if states is None:
            self.joins = False
            return None
        logits: Tensor = self.lm.module(self.lm.layout.head)(states)
        return logits

    def _own_logits(self, batch: SearchBatch, row_deltas: Tensor) -> tuple[Tensor, UpperRows | None]:
        """Logits at the reads by the model's own pass, and how it ran the upper blocks."""
        lm, add = self.lm, partial(_changed, batch, row_deltas)
        upper = None
        with ExitStack() as hooks:
            if self.after:
                hooks.enter_context(resume_at(lm, batch.layer_input, add(batch.layer_input.hidden)))
                if not batch.tried:
                    upper = UpperPass(lm, batch.layer_input.layer)
                    hooks.enter_context(upper.record())
            else:
                hooks.enter_context(resume_at(lm, batch.layer_input))
                hooks.enter_context(replace_output(self.module, lambda _, out: add(out)))
            rows, places = batch.reads
            hooks.enter_context(only_at(self.last, rows, places))
            logits = logits_at(lm, batch.ids, batch.mask, rows, places, after=batch.prefix)
        return logits, batch.upper if upper is None else UpperRows.of(upper)

    def _drop(self, left: set[int]) -> None:
        """Take the rows of finished requests out of the batches."""
        batches = []
        for batch in self.batches:
            rows = [i for i, row in enumerate(batch.rows) if self.position[row.request] in left]
            if len(rows) == len(batch.rows):
                batches.append(batch)
            elif rows:
                batches.append(keep_rows(batch, rows))
        self.batches = batches

    def _prepare(self, stems: Stems | None, rows: list[SearchRow]) -> list[SearchRow]:
        batch, out = make_batch(self.lm, rows, stems, self.position, self._read)
        bare = [i for i, row in enumerate(rows) if row.template == 0]
        self.start[batch.requests[bare]] = out[bare, batch.subjects[bare]].float()
        self.batches.append(batch)
        return rows

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


class _Costs(NamedTuple):
    """What a pass gives.

    Attributes:
        batches: Its batches, with what is known of them now.
        reads: What was read of them.
        values: Share of the negative log-probability at every read, [reads].
        divergence: Share of the divergence, [reads].
        pull: Their slope with respect to δ, by row, [rows, width].
    """

    batches: list[SearchBatch]
    reads: SearchReads
    values: Tensor
    divergence: Tensor
    pull: Tensor


def _changed(batch: SearchBatch, row_deltas: Tensor, out: Tensor) -> Tensor:
    """An output of the batch, [rows, positions, width], with each row's δ added where it belongs."""
    every = torch.arange(len(batch.rows), device=out.device)
    changed = out.clone()
    changed[every, batch.subjects] = (out[every, batch.subjects].float() + row_deltas).to(out.dtype)
    return changed
