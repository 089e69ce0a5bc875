"""The search for values: ROME's v* (Meng et al. 2022, section 3.1, Eq. 4) and MEMIT's z (Meng et al. 2023, Eq. 16).

A vector δ is added to one layer's output at the subject's last token. Adam makes the new object likely after the prompt
in several context templates, while the model's next token after "{subject} is a" stays what it was.

Many requests are optimised in one batch. Tokens before the subject's last one do not change, so they are read once and
stored as keys and values; blocks below the layer run once; logits are computed only at the scored positions
(``TargetBatch`` does all three); requests that reach the loss threshold are removed from the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from evaluation.editors.locate_edit.context_templates import fill
from evaluation.editors.locate_edit.readings import subject_position
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.models.devices import send
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
        budget: Most tokens in one pass; chosen for the device if not given. Requests whose pass runs out of memory are
            searched again, half of them at a time.
    """
    budget = budget or default_budget(lm, gradients=True, blocks=lm.layout.depth - layer)
    module = lm.projection(layer) if site == "mlp" else lm.block(layer)
    search = partial(_search, lm, layer, module, settings=settings)
    with packed_weights(lm):
        return in_batches([_texts_of(lm, fact, templates) for fact in requests], _cost, search, budget)


def search_text(lm: LM, layer: int, text: TargetText, *, settings: SearchSettings) -> SearchedValue:
    """The value of one prompt in a block's output, without the divergence; every pass reads the whole text.

    Other changes of the block may be active.
    """
    with packed_weights(lm):
        return _search(lm, layer, lm.block(layer), [_RequestTexts([text], [])], settings=settings, share=False)[0]


class _RequestTexts(NamedTuple):
    """Texts of one request; δ is added at the first token that changes.

    Attributes:
        prompts: The prompt with the new object in every template, the bare one first.
        essence: The essence prompt, or nothing. Its goal is not counted: only the whole distribution is read.
    """

    prompts: list[TargetText]
    essence: list[TargetText]


def _texts_of(lm: LM, fact: Fact, templates: Sequence[str]) -> _RequestTexts:
    prompts = []
    for template in templates:
        text = lm.encode(fill(template, fact.fact_prompt), fact.new_object.text)
        changed = subject_position(lm, fact, template).last
        prompts.append(TargetText.shifted(text.ids, text.first)._replace(changed=changed))
    subject = fact.subject.text
    ids, last = lm.encode_at(ESSENCE.replace("{}", subject), end=len(subject))
    return _RequestTexts(prompts, [TargetText(ids[: last + 1], (last,), (ids[last],), changed=last)])


def _cost(request: _RequestTexts) -> int:
    """Tokens that run through the blocks at every step, and half a token for every row of logits."""
    return sum(len(text.ids) - text.changed + (len(text.goals) + 1) // 2 for text in request.prompts + request.essence)


def _search(
    lm: LM,
    layer: int,
    module: nn.Module,
    requests: Sequence[_RequestTexts],
    *,
    settings: SearchSettings,
    share: bool = True,
) -> list[SearchedValue]:
    """The values of requests with equally many texts, in one batch: all prompts, then all essence prompts."""
    s, size, has_essence = settings, len(requests[0].prompts), bool(requests[0].essence)
    prompts = [text for request in requests for text in request.prompts]
    batch = TargetBatch(lm, prompts + [text for one in requests for text in one.essence], layer, share=share)
    places = _places(batch)
    delta = torch.zeros(len(requests), lm.layout.width, device=lm.device, requires_grad=True)
    optimiser = torch.optim.Adam([delta], lr=s.lr)
    values: dict[int, SearchedValue] = {}
    left = list(range(len(requests)))  # requests in the batch
    initial = norms = before = delta.detach()  # set by the first step, where δ is 0
    for step in range(s.steps):
        rows, last = send(left, lm.device), step == s.steps - 1
        with torch.set_grad_enabled(not last):
            shifts = delta[rows]
            of_texts = torch.cat([shifts.repeat_interleave(size, 0), shifts] if has_essence else [shifts])
            log_probs, outputs = _pass_with(of_texts, batch, module, places)
            now = log_probs[-len(left) :]  # after the essence prompts, each of which has one scored position
            if step == 0:
                initial, before = outputs[: len(prompts) : size], now.detach()
                norms = initial.norm(dim=1)
            nll = batch.nll(log_probs)[: len(left) * size].reshape(-1, size).mean(1)
            losses = nll + s.weight_decay * shifts.norm(dim=1) / norms[rows] ** 2
            if has_essence:
                losses = losses + s.kl_weight * (now.exp() * (now - before[rows])).sum(1)
        for n, loss, first_part in zip(left, *torch.stack([losses, nll]).tolist(), strict=True):
            if loss < s.stop_below or last:
                values[n] = SearchedValue((initial[n] + delta[n]).detach(), initial[n], loss, first_part, step)
        stay = [i for i, n in enumerate(left) if n not in values]
        if not stay:
            break
        (delta.grad,) = torch.autograd.grad(losses.sum(), delta)
        optimiser.step()
        with torch.no_grad():
            delta.mul_((s.clamp * norms / delta.norm(dim=1).clamp(min=1e-12)).clamp(max=1.0)[:, None])
        if len(stay) < len(left):
            essence = [len(left) * size + i for i in stay if has_essence]
            batch = batch.select([i * size + n for i in stay for n in range(size)] + essence)
            left, places = [left[i] for i in stay], _places(batch)
    return [values[n] for n in range(len(requests))]


def _places(batch: TargetBatch) -> tuple[Tensor, ...]:
    """Row and column of every text's first changed token, [texts] each."""
    changed = [text.changed - begin for text, begin in zip(batch.texts, batch.begins, strict=True)]
    return send([list(range(len(changed))), changed], batch.lm.device).unbind()


def _pass_with(shifts: Tensor, batch: TargetBatch, module: nn.Module, at: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Log-probabilities before every goal with δ added, and the outputs without it, [texts, width], both float32.

    Args:
        shifts: δ of every text, [texts, width].
        batch: The texts.
        module: Whose output is changed.
        at: Where: ``_places`` of the batch.
    """
    outputs = [shifts]

    def add(_: Tensor, out: Tensor) -> Tensor:
        outputs[0] = out[at].float()
        return out.index_put(at, (outputs[0] + shifts).to(out.dtype))

    with replace_output(module, add):
        return batch.log_probs(), outputs[0].detach()
