"""Training of the weights themselves, one loss after the other, as the reference for methods that train changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from evaluation.models.language_model import LM
from schemas.facts import Fact


def object_loss(lm: LM, facts: Sequence[Fact], *, eos: bool = False) -> torch.Tensor:
    """Mean over facts of the mean NLL of the new object's tokens, and of the end token where that is learnt too."""
    losses = []
    for fact in facts:
        text = lm.encode(fact.fact_prompt, fact.new_object.text)
        ids = [*text.ids, *([lm.tokenizer.eos_token_id] if eos else [])]
        log_probs = lm.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        losses.append(-torch.stack([log_probs[n - 1, ids[n]] for n in range(text.first, len(ids))]).mean())
    return torch.stack(losses).mean()


def changes_by_adam(
    lm: LM, layers: Sequence[int], losses: Iterable[Callable[[], torch.Tensor]], *, lr: float, eps: float | None = None
) -> list[torch.Tensor]:
    """W' − W of the layers' projections, [out, in]; no entry moves further than ``eps``; a loss below 0.01 ends it."""
    weights: list[Any] = [lm.projection(n).weight for n in layers]
    old = [w.detach().clone() for w in weights]
    for w in weights:
        w.requires_grad_(True)
    optimiser = torch.optim.Adam(weights, lr=lr)
    for loss in losses:
        optimiser.zero_grad()
        value = loss()
        if value.item() < 1e-2:
            break
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        for w, o in zip(weights, old, strict=True) if eps else ():
            w.data.clamp_(o - eps, o + eps)  # type: ignore[operator]
    changes = [(w - o).detach() for w, o in zip(weights, old, strict=True)]
    return [change.T if lm.layout.transposed else change for change in changes]
