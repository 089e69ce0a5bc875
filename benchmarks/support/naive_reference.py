"""Editing and scoring done plainly, as published code does: the slow reference that the toolkit must equal and outrun.

One edit at a time; every pass is the whole model over all positions of all rows, with logits of the whole vocabulary;
representations are read by running all layers; evaluation is one padded batch of prompt-target pairs a case. Tokens,
places and hooks are found here anew, from the tokenizer and from PyTorch, so that nothing is shared with what is
checked but the layout of the model, which says what its modules are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers.pytorch_utils import Conv1D

from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.models.language_model import LM
from schemas.answers import Answer, TargetScore
from schemas.facts import Fact
from schemas.probes import ScoreProbe


class PlainValue(NamedTuple):
    target: Tensor
    steps: int
    nll: float


class Tokens(NamedTuple):
    """A text as tokens: ``at`` is the place of what is looked for, a target's first token or a subject's last."""

    ids: list[int]
    at: int


def with_target(lm: LM, prompt: str, target: str, separator: str = " ") -> Tokens:
    """A prompt with its target; where the target begins."""
    begin = len(prompt) + len(separator)
    read = lm.tokenizer(prompt + separator + target, return_offsets_mapping=True)
    return Tokens(read["input_ids"], sum(end <= begin for _, end in read["offset_mapping"]))


def with_subject(lm: LM, fact: Fact, template: str) -> Tokens:
    """A prompt in a template; the last token of the subject."""
    before, _, after = fact.prompt.partition("{}")
    head, _, tail = template.partition("{}")
    end = len(head + before + fact.subject.text)
    read = lm.tokenizer(f"{head}{before}{fact.subject.text}{after}{tail}", return_offsets_mapping=True)
    return Tokens(read["input_ids"], max(i for i, (a, b) in enumerate(read["offset_mapping"]) if a < end and b > a))


def padded(lm: LM, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows of tokens padded on the right, and their mask."""
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long, device=lm.device)
    mask = torch.zeros_like(ids)
    for n, row in enumerate(rows):
        ids[n, : len(row)] = torch.tensor(row, device=lm.device)
        mask[n, : len(row)] = 1
    return ids, mask


@contextmanager
def hooked(module: Any, change: Callable[[Tensor, Tensor], Tensor | None]) -> Iterator[None]:
    """Give a module's input and output to a function for the time of a block; what it returns is the new output."""

    def hook(_: Any, args: tuple[Tensor, ...], out: Any) -> Any:
        new = change(args[0], out[0] if isinstance(out, tuple) else out)
        return new if new is None or not isinstance(out, tuple) else (new, *out[1:])

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def turned(module: Any, change: Tensor) -> Tensor:
    """A change as the module holds its weight: GPT-2's Conv1D the other way round."""
    return change.T if isinstance(module, Conv1D) else change


def value(
    lm: LM, layer: int, fact: Fact, templates: Sequence[str], settings: SearchSettings, *, module: Any
) -> PlainValue:
    """The value search with full passes."""
    texts = [with_target(lm, t.replace("{}", fact.fact_prompt), fact.new_object.text) for t in templates]
    subjects = [with_subject(lm, fact, t).at for t in templates]
    essence = with_subject(lm, fact.model_copy(update={"prompt": "{} is a"}), "{}")
    ids, mask = padded(lm, [*[t.ids[:-1] for t in texts], essence.ids])
    goals = torch.full(ids.shape, -100, device=lm.device)
    for row, text in enumerate(texts):
        for i in range(text.at, len(text.ids)):
            goals[row, i - 1] = text.ids[i]
    rows, places = list(range(len(ids))), [*subjects, essence.at]
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
    with hooked(module, add):
        for step in range(settings.steps):
            with torch.enable_grad():
                logprobs = lm.model(input_ids=ids, attention_mask=mask).logits.float().log_softmax(-1)
                now = logprobs[-1, essence.at]
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
                limit = settings.clamp * start[0].norm()
                if delta.norm() > limit:
                    delta.mul_(limit / delta.norm())
    return PlainValue((start[0] + delta).detach(), steps, float(nll.detach()))


@torch.no_grad()
def representations(lm: LM, module: Any, fact: Fact, templates: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Input and output of a module at the subject's last token in every template: one pass through the whole model."""
    placed = [with_subject(lm, fact, t) for t in templates]
    ids, mask = padded(lm, [p.ids for p in placed])
    seen: list[tuple[Tensor, Tensor]] = []
    with hooked(module, lambda given, out: seen.append((given, out))):  # type: ignore[func-returns-value]
        lm.model(input_ids=ids, attention_mask=mask)
    ((given, out),) = seen
    rows, places = list(range(len(placed))), [p.at for p in placed]
    return given[rows, places].float(), out[rows, places].float()


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
    facts: Sequence[Fact],
    templates: Sequence[str],
    seconds: dict[int, Tensor],
    lam: float,
    settings: SearchSettings,
) -> tuple[list[Delta], int]:
    """One MEMIT edit of facts searched one by one: a system of the keys' full size for every layer, in float64."""
    last = lm.block(layers[-1])
    searches = [value(lm, layers[-1], fact, templates, settings, module=last) for fact in facts]
    deltas: list[Delta] = []
    weights: dict[int, Any] = {n: lm.projection(n).weight for n in layers}
    copies = {n: weight.detach().clone() for n, weight in weights.items()}
    try:
        for i, layer in enumerate(layers):
            reads = [representations(lm, lm.projection(layer), fact, templates)[0] for fact in facts]
            keys = torch.stack([(read[0] + read[1:].mean(0)) / 2 for read in reads], dim=1).double()
            now = [representations(lm, last, fact, ["{}"])[1][0] for fact in facts]
            missing = torch.stack([s.target - state for s, state in zip(searches, now, strict=True)], dim=1)
            solved = torch.linalg.solve(lam * seconds[layer].to(keys) + keys @ keys.T, keys)
            change = (missing.double() / (len(layers) - i) @ solved.T).float()
            with torch.no_grad():
                weights[layer].add_(turned(lm.projection(layer), change))
            deltas.append(DenseDelta(lm.layout.weight(layer), change))
    finally:
        with torch.no_grad():
            for n, copy in copies.items():
                weights[n].copy_(copy)
    return deltas, sum(search.steps for search in searches)


def ft(lm: LM, layer: int, fact: Fact, *, steps: int, lr: float, stop_below: float) -> tuple[Delta, int]:
    """One FT edit: the weight itself is trained, with full passes."""
    text = with_target(lm, fact.fact_prompt, fact.new_object.text)
    ids = torch.tensor([text.ids[: text.at]], device=lm.device)
    goals = torch.tensor(text.ids[text.at :], device=lm.device)
    weight: Any = lm.projection(layer).weight
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
    return DenseDelta(lm.layout.weight(layer), turned(lm.projection(layer), change)), steps_made


@torch.no_grad()
def evaluate(lm: LM, probes: Sequence[ScoreProbe]) -> list[Answer]:
    """A case's prompts with each of their targets as rows of one padded batch; the whole vocabulary everywhere."""
    pairs = [(p, target) for p in probes for target in p.targets]
    coded = [with_target(lm, p.prompt, target, p.separator) for p, target in pairs]
    ids, mask = padded(lm, [c.ids for c in coded])
    logprobs = lm.model(input_ids=ids, attention_mask=mask).logits.float().log_softmax(-1)
    values: Iterator[TargetScore] = (
        TargetScore(
            text=target,
            logprob=sum(float(logprobs[row, i - 1, c.ids[i]]) for i in range(c.at, len(c.ids))),
            tokens=len(c.ids) - c.at,
        )
        for row, ((_, target), c) in enumerate(zip(pairs, coded, strict=True))
    )
    return [Answer(probe=p.id, targets=tuple(next(values) for _ in p.targets)) for p in probes]


@contextmanager
def with_deltas(lm: LM, deltas: Sequence[Delta]) -> Iterator[None]:
    """Changes in the weights for the time of a block, as published code does it: add, and copy the old weights back."""
    modules = [lm.model.get_submodule(delta.weight.rpartition(".")[0]) for delta in deltas]
    copies: list[Tensor] = []
    try:
        with torch.no_grad():
            for module, delta in zip(modules, deltas, strict=True):
                weight: Any = module.weight
                assert isinstance(delta, LowRankDelta | DenseDelta), "of the methods here none routes"
                change = delta.left @ delta.right.T if isinstance(delta, LowRankDelta) else delta.value
                copies.append(weight.detach().clone())
                weight.add_(turned(module, change).to(weight))
        yield
    finally:
        with torch.no_grad():
            for module, copy in reversed(list(zip(modules, copies, strict=False))):
                module.weight.copy_(copy)  # type: ignore[operator,union-attr]
