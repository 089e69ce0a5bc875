"""The search for values: ROME's v* (Meng et al. 2022, section 3.1, Eq. 4) and MEMIT's z (Meng et al. 2023, Eq. 16).

A vector δ is added to one layer's output at the subject's last token. Adam makes the new object likely after the prompt
in several context templates, while the model's next token after "{subject} is a" stays what it was.

Many requests are optimised in one batch. Tokens before the subject's last one do not change, so they are read once and
stored as keys and values; blocks below the layer run once; logits are computed only at the scored positions; requests
that reach the loss threshold are removed from the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from evaluation.editors.locate_edit.context_templates import fill
from evaluation.editors.locate_edit.readings import subject_position
from evaluation.inference.batching import CPU_PADDING, TokenBudget, default_budget, pack_batches
from evaluation.inference.passes import LayerInput, Prefix, can_share, logits_at, read_prefix, resume_at, run_until
from evaluation.models.devices import free_memory, out_of_memory
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.packed_weights import packed_weights
from schemas.facts import Fact

ESSENCE = "{} is a"
"""Prompt after whose subject the model's next token shall stay what it was (ROME Eq. 4, second term)."""

Site = Literal["mlp", "block"]
"""Which output of the layer is changed: the MLP output projection's (ROME) or the whole block's (MEMIT)."""


@dataclass(frozen=True)
class SearchSettings:
    """How the value is searched for.

    Attributes:
        steps: Evaluations of the loss; the last one makes no update, so there are at most ``steps - 1`` updates.
        lr: Adam's learning rate.
        kl_weight: Weight of the divergence on "{} is a".
        weight_decay: Weight of |δ|/|v₀|².
        clamp: δ stays within ``clamp``·|v₀|.
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
        return cls(**{name: getattr(options, name) for name in cls.__dataclass_fields__})


class SearchedValue(NamedTuple):
    """The result of one request's search.

    Attributes:
        target: v* = v₀ + δ, [width].
        initial: v₀, the unedited output at the subject's last token of the bare prompt, [width].
        loss: Last evaluated loss, in nats.
        nll: Its first part: mean negative log-probability of the new object's tokens over the templates, in nats.
        updates: Number of updates.
    """

    target: Tensor
    initial: Tensor
    loss: float
    nll: float
    updates: int


class SearchRow(NamedTuple):
    """One prompt of a request.

    Attributes:
        request: Number of the request in its search.
        ids: Token ids.
        subject: Position of the subject's last token, where δ is added.
        goals: (position, token) pairs: the token to be predicted after the position; none in the essence prompt.
        bare: Whether this is the prompt without a context, where v₀ is read.
    """

    request: int
    ids: tuple[int, ...]
    subject: int
    goals: tuple[tuple[int, int], ...]
    bare: bool = False

    @property
    def cost(self) -> int:
        """Tokens that run through the blocks at every step, and half a token for every row of logits."""
        return len(self.ids) - self.subject + (len(self.goals) + 1) // 2


def search_values(
    lm: LM,
    layer: int,
    requests: Sequence[Fact],
    templates: Sequence[str],
    *,
    settings: SearchSettings,
    site: Site = "mlp",
    budget: TokenBudget | None = None,
) -> list[SearchedValue]:
    """Find v* of every request; each request's result is independent of the others.

    A request's loss is the mean negative log-probability of the new object's tokens over all templates, plus
    ``kl_weight`` KL(now ‖ before) after "{subject} is a", plus ``weight_decay`` |δ|/|v₀|². Its search ends below
    ``stop_below`` or at the last evaluation, before an update, as in the published code.

    Args:
        lm: The model; unchanged afterwards.
        layer: Whose output is changed, from 0.
        requests: Facts with a new object.
        templates: Context templates, the first a bare ``{}``.
        settings: Options of the search.
        site: Which output of the layer is changed.
        budget: Most tokens in one pass; chosen for the device if not given. It halves when memory runs out.
    """
    budget = budget or default_budget(lm, gradients=True, blocks=lm.layout.depth - layer)
    rows = [_rows_of(lm, fact, templates) for fact in requests]
    costs = [sum(row.cost for row in prompts) for prompts in rows]
    values: dict[int, SearchedValue] = {}
    with packed_weights(lm):
        # Requests that are searched together fill about two passes, which bounds what is stored for them.
        for group in pack_batches(range(len(requests)), costs.__getitem__, 2 * budget.tokens):
            group_rows = [row._replace(request=n) for n, i in enumerate(group) for row in rows[i]]
            search = _ValueSearch(lm, layer, group_rows, settings=settings, site=site, budget=budget)
            values.update(zip(group, search.run(), strict=True))
    return [values[i] for i in range(len(requests))]


def search_row(lm: LM, layer: int, row: SearchRow, *, settings: SearchSettings) -> SearchedValue:
    """The value of one bare prompt in a block's output, without the divergence; every pass reads the whole row.

    Other changes of the block may be in force.
    """
    budget = default_budget(lm, gradients=True, blocks=lm.layout.depth - layer)
    with packed_weights(lm):
        search = _ValueSearch(lm, layer, [row], settings=settings, site="block", budget=budget, share=False)
        return search.run()[0]


def _rows_of(lm: LM, fact: Fact, templates: Sequence[str]) -> list[SearchRow]:
    """A request's prompt in every template followed by the new object, and the essence prompt."""
    rows: list[SearchRow] = []
    for template in templates:
        text = lm.encode(fill(template, fact.fact_prompt), fact.new_object.text)
        goals = tuple((i - 1, text.ids[i]) for i in range(text.first, len(text.ids)))
        rows.append(SearchRow(0, text.ids[:-1], subject_position(lm, fact, template).last, goals, bare=not rows))
    subject = fact.subject.text
    essence = lm.encode_at(ESSENCE.replace("{}", subject), end=len(subject))
    return [*rows, SearchRow(0, essence.ids[: essence.last + 1], essence.last, ())]


class _Batch:
    """Rows of one pass, as tensors on the model's device. Positions count from the end of the stored prefix.

    Args:
        lm: The model.
        layer: Where passes start.
        rows: The rows.
        share: Whether tokens before the subject are stored as keys and values.
    """

    def __init__(self, lm: LM, layer: int, rows: list[SearchRow], *, share: bool) -> None:
        self._device = lm.device
        self._begins = [row.subject if share else 0 for row in rows]
        self.prefix: Prefix | None = None
        if any(self._begins):
            self.prefix = read_prefix(lm, [row.ids[:begin] for row, begin in zip(rows, self._begins, strict=True)])
        self.ids, self.mask = lm.pad([row.ids[begin:] for row, begin in zip(rows, self._begins, strict=True)])
        self.start: LayerInput = run_until(lm, layer, self.ids, self.mask, after=self.prefix)
        self._index(rows)

    def _index(self, rows: list[SearchRow]) -> None:
        """Where δ is added and what is scored: one token after every goal's position, then the essence prompts."""
        self.rows = rows
        goals = [(r, position, token) for r, row in enumerate(rows) for position, token in row.goals]
        essence = [r for r, row in enumerate(rows) if not row.goals]
        self.requests = self._tensor([row.request for row in rows])
        self.subjects = self._tensor([row.subject - begin for row, begin in zip(rows, self._begins, strict=True)])
        self.bare = self._tensor([r for r, row in enumerate(rows) if row.bare])
        self.scored_rows = [r for r, _, _ in goals] + essence
        positions = [position for _, position, _ in goals] + [rows[r].subject for r in essence]
        self.scored_positions = [p - self._begins[r] for r, p in zip(self.scored_rows, positions, strict=True)]
        self.tokens = self._tensor([token for _, _, token in goals])
        self.goal_owners = self._tensor([rows[r].request for r, _, _ in goals])
        self.essence_owners = self._tensor([rows[r].request for r in essence])

    def _tensor(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.long, device=self._device)

    def keep(self, requests: set[int]) -> None:
        """Drop the rows of all other requests."""
        rows = [r for r, row in enumerate(self.rows) if row.request in requests]
        if len(rows) == len(self.rows):
            return
        index = self._tensor(rows)
        self.prefix = None if self.prefix is None else self.prefix.select(index)
        self.ids, self.mask, self.start = self.ids[index], self.mask[index], self.start.select(index)
        self._begins = [self._begins[r] for r in rows]
        self._index([self.rows[r] for r in rows])


class _ValueSearch:
    """The search for one group of requests. ``rows`` number the requests from 0."""

    def __init__(
        self,
        lm: LM,
        layer: int,
        rows: list[SearchRow],
        *,
        settings: SearchSettings,
        site: Site,
        budget: TokenBudget,
        share: bool = True,
    ) -> None:
        self.lm, self.layer, self.settings, self.budget = lm, layer, settings, budget
        self.module = lm.projection(layer) if site == "mlp" else lm.block(layer)
        self.share_prefix = share and can_share(lm, max(len(row.ids) for row in rows))
        self.count = 1 + max(row.request for row in rows)
        self.goals_of = torch.zeros(self.count, device=lm.device)
        for row in rows:
            self.goals_of[row.request] += len(row.goals)
        self.initial = torch.zeros(self.count, lm.layout.width, device=lm.device)
        self.before: Tensor | None = None  # log-probabilities after the essence prompts before editing
        self.batches = self._batches(rows)

    def _batches(self, rows: list[SearchRow]) -> list[_Batch]:
        padding = CPU_PADDING if self.lm.device.type == "cpu" else None
        packs = pack_batches(rows, lambda row: row.cost, self.budget.tokens, padding=padding)
        return [_Batch(self.lm, self.layer, pack, share=self.share_prefix) for pack in packs]

    def run(self) -> list[SearchedValue]:
        """The values in the order of the requests."""
        s, delta = self.settings, torch.zeros_like(self.initial, requires_grad=True)
        optimiser = torch.optim.Adam([delta], lr=s.lr)
        values: dict[int, SearchedValue] = {}
        for step in range(s.steps):
            optimiser.zero_grad()
            nll, kl = self._evaluate(delta, first=step == 0, last=step == s.steps - 1)
            size = self.initial.norm(dim=1)
            with torch.enable_grad():
                decay = s.weight_decay * delta.norm(dim=1) / size**2
                decay.sum().backward()  # type: ignore[no-untyped-call]
            losses, nlls = torch.stack([nll + s.kl_weight * kl + decay.detach(), nll]).tolist()
            for n in range(self.count):
                if n not in values and (losses[n] < s.stop_below or step == s.steps - 1):
                    target = (self.initial[n] + delta[n]).detach()
                    values[n] = SearchedValue(target, self.initial[n].clone(), losses[n], nlls[n], step)
            if len(values) == self.count:
                break
            self._keep({n for n in range(self.count) if n not in values})
            optimiser.step()
            with torch.no_grad():
                limit = s.clamp * size
                delta.mul_((limit / delta.norm(dim=1).clamp(min=1e-12)).clamp(max=1.0)[:, None])
        return [values[n] for n in range(self.count)]

    def _keep(self, requests: set[int]) -> None:
        for batch in self.batches:
            batch.keep(requests)
        self.batches = [batch for batch in self.batches if batch.rows]

    def _evaluate(self, delta: Tensor, *, first: bool, last: bool) -> tuple[Tensor, Tensor]:
        """Every request's negative log-probability and divergence, [requests]; adds their gradient to δ's."""
        while True:
            try:
                totals = torch.zeros(2, self.count, device=self.lm.device)
                for batch in self.batches:
                    with torch.set_grad_enabled(not last):
                        nll, kl = self._losses(batch, delta, first=first)
                        if not last:
                            torch.autograd.backward((nll + self.settings.kl_weight * kl).sum(), inputs=[delta])
                    totals += torch.stack([nll, kl]).detach()
                return totals[0], totals[1]
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or not self.budget.shrink():
                    raise
            delta.grad = None
            rows = [row for batch in self.batches for row in batch.rows]
            self.batches = []
            free_memory()
            self.batches = self._batches(rows)

    def _losses(self, batch: _Batch, delta: Tensor, *, first: bool) -> tuple[Tensor, Tensor]:
        """One pass: the batch's part of every request's negative log-probability and divergence, [requests] each."""
        every = torch.arange(len(batch.rows), device=delta.device)

        def change(_: Tensor, out: Tensor) -> Tensor:
            states = out[every, batch.subjects].float()
            if first:
                self.initial[batch.requests[batch.bare]] = states[batch.bare].detach()
            changed = out.clone()
            changed[every, batch.subjects] = (states + delta[batch.requests]).to(out.dtype)
            return changed

        positions = batch.scored_rows, batch.scored_positions
        with resume_at(self.lm, batch.start), replace_output(self.module, change):
            logits = logits_at(self.lm, batch.ids, batch.mask, *positions, after=batch.prefix)
        goal_logits, essence_logits = logits.tensor_split([len(batch.goal_owners)])
        parts = cross_entropy(goal_logits, batch.tokens, reduction="none") / self.goals_of[batch.goal_owners]
        nll = parts.new_zeros(self.count).index_add(0, batch.goal_owners, parts)
        now, owners = essence_logits.log_softmax(-1), batch.essence_owners
        if first:
            if self.before is None:
                self.before = now.new_zeros(self.count, now.shape[1])
            self.before[owners] = now.detach()
        assert self.before is not None
        divergence = (now.exp() * (now - self.before[owners])).sum(1)
        return nll, divergence.new_zeros(self.count).index_add(0, owners, divergence)
