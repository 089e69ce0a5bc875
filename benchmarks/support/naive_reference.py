"""Editing and scoring done plainly, as published code does: the slow twin that the toolkit must equal and outrun.

One edit at a time; every pass is the whole model over all positions of all rows, with logits of the whole vocabulary;
representations are read by running all layers; evaluation is one padded batch of prompt-target pairs a case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from evaluation.editors.locate_edit.parts.context_templates import fill
from evaluation.editors.locate_edit.parts.keys import subject_place
from evaluation.editors.locate_edit.parts.search_rows import ESSENCE
from evaluation.editors.locate_edit.parts.value_search import SearchSettings
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.models.hooks import capture, replace_output
from evaluation.models.language_model import LM
from evaluation.models.linear_maps import is_transposed
from evaluation.models.tokenization import encode_at
from schemas.answers import Answer, TargetScore
from schemas.facts import Fact
from schemas.probes import ScoreProbe


class PlainValue(NamedTuple):
    target: Tensor
    steps: int
    nll: float


def value(
    lm: LM, layer: int, fact: Fact, templates: Sequence[str], settings: SearchSettings, *, module: Any
) -> PlainValue:
    """The value search with full passes."""
    texts = [lm.encode(fill(t, fact.fact_prompt), fact.new_object.text) for t in templates]
    subjects = [subject_place(lm, fact, t).last for t in templates]
    essence = encode_at(lm.tokenizer, ESSENCE.replace("{}", fact.subject.text), end=len(fact.subject.text))
    ids, mask = lm.pad([*[t.ids[:-1] for t in texts], essence.ids])
    goals = torch.full(ids.shape, -100, device=lm.device)
    for row, text in enumerate(texts):
        for i in range(text.first, len(text.ids)):
            goals[row, i - 1] = text.ids[i]
    rows, places = list(range(len(ids))), [*subjects, essence.last]
    delta = torch.zeros(lm.layout.width, device=lm.device, requires_grad=True)
    optimiser = torch.optim.Adam([delta], lr=settings.lr)
    start: list[Tensor] = []
    held: Tensor | None = None

    def add(_: Tensor, out: Tensor) -> Tensor:
        if not start:
            start.append(out[0, places[0]].detach().clone())
        out = out.clone()
        for row, place in zip(rows, places, strict=True):
            out[row, place] = out[row, place] + delta
        return out

    nll = torch.zeros(())
    steps = 0
    with replace_output(module, add):
        for step in range(settings.steps):
            with torch.enable_grad():
                logprobs = lm.model(input_ids=ids, attention_mask=mask).logits.float().log_softmax(-1)
                now = logprobs[-1, essence.last]
                held = now.detach().clone() if held is None else held
                real = goals != -100
                picked = logprobs.gather(2, goals.clamp(min=0)[..., None])[..., 0]
                nll = -(picked * real).sum() / real.sum()
                kl = (now.exp() * (now - held)).sum()
                decay = settings.weight_decay * delta.norm() / start[0].norm() ** 2
                loss = nll + settings.kl_weight * kl + decay
            if loss < settings.stop_below or step == settings.steps - 1:
                break
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            steps += 1
            with torch.no_grad():
                most = settings.clamp * start[0].norm()
                if delta.norm() > most:
                    delta.mul_(most / delta.norm())
    return PlainValue((start[0] + delta).detach(), steps, float(nll.detach()))


@torch.no_grad()
def representations(lm: LM, module: Any, fact: Fact, templates: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Input and output of a module at the subject's last token in every template: one pass through the whole model."""
    placed = [subject_place(lm, fact, t) for t in templates]
    ids, mask = lm.pad([p.ids for p in placed])
    with capture(module) as seen:
        lm.model(input_ids=ids, attention_mask=mask)
    rows, places = list(range(len(placed))), [p.last for p in placed]
    return seen.input[rows, places].float(), seen.output[rows, places].float()


def rome(
    lm: LM, layer: int, fact: Fact, templates: Sequence[str], inverse: Tensor, settings: SearchSettings
) -> tuple[Delta, int]:
    """One ROME edit; ``inverse`` is C⁻¹, computed once."""
    module = lm.projection(layer)
    u = inverse @ representations(lm, module, fact, templates)[0].mean(0)
    u = u / u.norm()
    search = value(lm, layer, fact, templates, settings, module=module)
    key, output = representations(lm, module, fact, ["{}"])
    right = (search.target - output[0]) / (key[0] @ u)
    return LowRankDelta(lm.layout.weight(layer), right[:, None], u[:, None]), search.steps


def memit(
    lm: LM,
    layers: Sequence[int],
    fact: Fact,
    templates: Sequence[str],
    seconds: dict[int, Tensor],
    lam: float,
    settings: SearchSettings,
) -> tuple[list[Delta], int]:
    """One MEMIT edit: a system of the keys' full size is solved for every layer, in float64."""
    last = lm.block(layers[-1])
    search = value(lm, layers[-1], fact, templates, settings, module=last)
    deltas: list[Delta] = []
    copies = {n: lm.projection(n).weight.detach().clone() for n in layers}
    try:
        for i, layer in enumerate(layers):
            read = representations(lm, lm.projection(layer), fact, templates)[0]
            key = ((read[0] + read[1:].mean(0)) / 2).double()[:, None]
            missing = search.target - representations(lm, last, fact, ["{}"])[1][0]
            solved = torch.linalg.solve(lam * seconds[layer].double() + key @ key.T, key)
            change = ((missing.double() / (len(layers) - i))[:, None] @ solved.T).float()
            with torch.no_grad():
                weight = lm.projection(layer).weight
                weight.add_(change.T if is_transposed(lm.projection(layer)) else change)
            deltas.append(DenseDelta(lm.layout.weight(layer), change))
    finally:
        with torch.no_grad():
            for n, copy in copies.items():
                lm.projection(n).weight.copy_(copy)
    return deltas, search.steps


def ft(lm: LM, layer: int, fact: Fact, *, steps: int, lr: float, stop_below: float) -> tuple[Delta, int]:
    """One FT edit: the weight itself is trained, with full passes."""
    text = lm.encode(fact.fact_prompt, fact.new_object.text)
    ids = torch.tensor([text.ids[: text.first]], device=lm.device)
    goals = torch.tensor(text.target, device=lm.device)
    weight = lm.projection(layer).weight
    before = weight.detach().clone()
    weight.requires_grad_(True)
    optimiser = torch.optim.Adam([weight], lr=lr)
    steps_made = 0
    try:
        for _ in range(steps):
            with torch.enable_grad():
                logits = lm.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.float()
                loss = -logits.log_softmax(-1)[0, -1, goals].mean()
            if loss < stop_below:
                break
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            steps_made += 1
        change = (weight.detach() - before).float()  # what a narrow weight could hold of it
    finally:
        weight.requires_grad_(False)
        weight.grad = None
        with torch.no_grad():
            weight.copy_(before)
    return DenseDelta(lm.layout.weight(layer), change.T if is_transposed(lm.projection(layer)) else change), steps_made


@torch.no_grad()
def evaluate(lm: LM, probes: Sequence[ScoreProbe]) -> list[Answer]:
    """A case's prompts with each of their targets as rows of one padded batch; the whole vocabulary everywhere."""
    pairs = [(p, target) for p in probes for target in p.targets]
    coded = [lm.encode(p.prompt, target, separator=p.separator) for p, target in pairs]
    ids, mask = lm.pad([c.ids for c in coded])
    logprobs = lm.model(input_ids=ids, attention_mask=mask).logits.float().log_softmax(-1)
    values: Iterator[TargetScore] = (
        TargetScore(
            text=target,
            logprob=sum(float(logprobs[row, i - 1, c.ids[i]]) for i in range(c.first, len(c.ids))),
            tokens=len(c.target),
        )
        for row, ((_, target), c) in enumerate(zip(pairs, coded, strict=True))
    )
    return [Answer(probe=p.id, targets=tuple(next(values) for _ in p.targets)) for p in probes]


@contextmanager
def in_force(lm: LM, deltas: Sequence[Delta]) -> Iterator[None]:
    """Dense changes in the weights for the time of a block."""
    from evaluation.edits.weight_deltas import applied

    with applied(lm.model, deltas):
        yield
