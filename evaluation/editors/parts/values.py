"""Values: the vector which, written at the subject's last token, makes the model say the new object (ROME Eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.editors.base import new_object
from evaluation.editors.parts.keys import subject_place
from evaluation.editors.parts.templates import fill
from evaluation.hooks import changing
from evaluation.lm import LM
from evaluation.prefix import Prefix, can_share, read_prefix
from evaluation.tokens import encode_at
from schemas.facts import Fact

ESSENCE = "{} is a"  # prompt at whose subject the model's next-token distribution is held (ROME Eq. 4, second term)


@dataclass(frozen=True)
class Search:
    """How the value is searched for.

    Attributes:
        steps: Evaluations of the loss; the last one makes no update, so there are at most ``steps - 1`` updates.
        lr: Adam's learning rate.
        kl_weight: Weight of the divergence on "{} is a". ``weight_decay``: weight of |δ|/|v₀|².
        clamp: δ is kept within ``clamp``·|v₀|. ``stop_below``: loss at which the search ends.
    """

    steps: int
    lr: float
    kl_weight: float
    weight_decay: float
    clamp: float
    stop_below: float


class Value(NamedTuple):
    """A found value.

    Attributes:
        target: v*, [width]. ``initial``: v₀, the unedited output at the bare prompt's subject, [width].
        loss: Last evaluated loss. ``nll``: the part of it that concerns the new object, mean over tokens and templates.
        updates: Number of updates made.
    """

    target: Tensor
    initial: Tensor
    loss: float
    nll: float
    updates: int


class _Batch(NamedTuple):
    """Rows of the search: prompts in every template, each with the new object, then the essence prompt."""

    ids: Tensor  # where a prefix is shared, from each row's subject on: places count from there
    mask: Tensor
    prefix: Prefix | None  # what stands before the subjects' last tokens: no δ reaches it
    subjects: list[int]  # each row's place where δ is added
    rows: list[int]  # where the loss is read: rows and places, the essence prompt's last
    places: list[int]
    goals: Tensor  # tokens to be predicted at all but the last of these


def search(lm: LM, layer: int, fact: Fact, templates: Sequence[str], *, how: Search) -> Value:
    """Find v* by Adam on δ = v* − v₀, added to the projection's output at the subject's last token in every row.

    The loss is the mean negative log-probability of the new object's tokens over the templates, plus the divergence
    KL(now ‖ before) at the subject's last token of "{} is a", plus the decay of δ. The search ends when the loss is
    below ``how.stop_below`` or at the last evaluation, in both cases before an update, as the published code does.
    """
    batch = _rows(lm, fact, templates)
    every = list(range(len(batch.subjects)))
    delta = torch.zeros(lm.layout.width, device=lm.device, requires_grad=True)
    optimiser = torch.optim.Adam([delta], lr=how.lr)
    start: list[Tensor] = []  # v₀, read in the first pass
    held: Tensor | None = None

    def add(_: Tensor, out: Tensor) -> Tensor:
        if not start:
            start.append(out[0, batch.subjects[0]].detach().float().clone())
        changed = out.clone()
        changed[every, batch.subjects] = (out[every, batch.subjects].float() + delta).to(out.dtype)
        return changed

    updates, loss, nll = 0, torch.zeros(()), torch.zeros(())
    with torch.enable_grad(), changing(lm.projection(layer), add):
        for step in range(how.steps):
            logits = lm.logits_at(batch.ids, batch.mask, batch.rows, batch.places, after=batch.prefix)
            logprobs = logits.log_softmax(-1)
            now = logprobs[-1]
            held = now.detach().clone() if held is None else held
            nll = -logprobs[:-1].gather(1, batch.goals[:, None]).mean()
            kl = (now.exp() * (now - held)).sum()
            loss = nll + how.kl_weight * kl + how.weight_decay * delta.norm() / start[0].norm() ** 2
            if loss < how.stop_below or step == how.steps - 1:
                break
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            updates += 1
            with torch.no_grad():
                most = how.clamp * start[0].norm()
                if delta.norm() > most:
                    delta.mul_(most / delta.norm())
    target = (start[0] + delta).detach()
    return Value(target, start[0], float(loss.detach()), float(nll.detach()), updates)


def _rows(lm: LM, fact: Fact, templates: Sequence[str]) -> _Batch:
    rows: list[tuple[int, ...]] = []
    subjects, at_rows, at_places, goals = [], [], [], []
    for r, template in enumerate(templates):
        text = lm.encode(fill(template, fact.fact_prompt), new_object(fact))
        rows.append(text.ids[:-1])
        subjects.append(subject_place(lm, fact, template).last)
        for i in range(text.first, len(text.ids)):
            at_rows.append(r)
            at_places.append(i - 1)
            goals.append(text.ids[i])
    subject = fact.subject.text
    essence = encode_at(lm.tokenizer, ESSENCE.replace("{}", subject), end=len(subject))
    rows.append(essence.ids)
    subjects.append(essence.last)
    at_rows.append(len(rows) - 1)
    at_places.append(essence.last)
    begins = [0] * len(rows)
    if can_share(lm, max(map(len, rows))) and any(subjects):
        begins = subjects
    prefix = read_prefix(lm, [row[:b] for row, b in zip(rows, begins, strict=True)]) if any(begins) else None
    ids, mask = lm.pad([row[b:] for row, b in zip(rows, begins, strict=True)])
    return _Batch(
        ids,
        mask,
        prefix,
        subjects=[s - b for s, b in zip(subjects, begins, strict=True)],
        rows=at_rows,
        places=[place - begins[row] for row, place in zip(at_rows, at_places, strict=True)],
        goals=torch.tensor(goals, device=lm.device),
    )
