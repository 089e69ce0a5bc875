"""FT against training the weight itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.passes import logits_at
from evaluation.models.language_model import LM
from schemas.facts import Fact, Object
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.facts import peru_fact


def plain_ft(lm: LM, request: Fact, *, layer: int, steps: int, lr: float, eps: float | None) -> torch.Tensor:
    """FT as published, on the weight itself: every target token at the last prompt position. Returns W' − W."""
    text = lm.encode(request.fact_prompt, request.new.text)  # type: ignore[union-attr]
    weight: Any = lm.projection(layer).weight
    old = weight.detach().clone()
    weight.requires_grad_(True)
    optimiser = torch.optim.Adam([weight], lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        logprobs = lm.model(torch.tensor([text.ids[: text.first]])).logits[0, -1].log_softmax(-1)
        loss = -logprobs[list(text.target)].mean()
        if loss.item() < 1e-2:
            break
        loss.backward()
        optimiser.step()
        if eps:
            with torch.no_grad():
                weight.clamp_(old - eps, old + eps)
    return (weight - old).detach()


@pytest.mark.parametrize("eps", [None, 3e-3])
@pytest.mark.parametrize("request_", [PERU, NORWAY], ids=lambda f: f.key)
def test_ft_equals_training_the_weight(tiny: LM, cache: Cache, request_: Fact, eps: float | None) -> None:
    options: dict[str, Any] = {"layer": 1, "steps": 12, "lr": 1e-2}
    editor = make_editor("ft_l" if eps else "ft", tiny, cache, {**options, **({"eps": eps} if eps else {})})
    digest = tiny.weights_digest()
    edit = editor.edit([request_])
    assert tiny.weights_digest() == digest
    (delta,) = edit.deltas or ()
    assert isinstance(delta, DenseDelta)
    want = plain_ft(tiny, request_, eps=eps, **options)
    want = want.T if tiny.layout.transposed else want
    assert (delta.value - want).norm() < 1e-3 * want.norm()
    assert edit.notes["norm_ratio"] > 0 and edit.notes["steps"] > 0 and edit.notes["blow_up"] is False
    if eps:
        assert float(delta.value.abs().max()) == pytest.approx(eps)


def test_ft_learns_all_requests_and_stops_early(tiny: LM, cache: Cache) -> None:
    editor = make_editor("ft", tiny, cache, {"layer": 2, "steps": 60, "lr": 3e-2, "stop_below": 4.0})
    requests = [PERU, peru_fact("f/quito", new=Object(text="Quito"), prompt="{} is")]
    edit = editor.edit(requests)
    assert 0 < edit.notes["steps"] < 60 and edit.notes["loss"] < 4.0

    def bag(request: Fact) -> float:
        text = tiny.encode(request.fact_prompt, request.new.text)  # type: ignore[union-attr]
        ids, mask = tiny.pad([text.ids[: text.first]])
        logprobs = logits_at(tiny, ids, mask, [0], [text.first - 1])[0].log_softmax(-1)
        return -float(logprobs[list(text.target)].mean())

    before = [bag(r) for r in requests]
    with edit.on(tiny):
        after = [bag(r) for r in requests]
    assert all(b - a > 1 for b, a in zip(before, after, strict=True))
    assert sum(after) / 2 == pytest.approx(edit.notes["loss"], abs=1e-3)
