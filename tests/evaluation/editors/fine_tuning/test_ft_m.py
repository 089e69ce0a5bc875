"""FT-M against training the weights themselves with the loss of language modelling on the object's tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.models.language_model import LM
from schemas.facts import Entity, Fact, Object
from tests.support.facts import peru_fact

PERU = peru_fact()
NORWAY = peru_fact(
    "f/norway", subject=Entity(text="Norway"), new=Object(text="São Tomé"), prompt="In {} the capital is"
)


def loss_of(lm: LM, request: Fact) -> torch.Tensor:
    text = lm.encode(request.fact_prompt, request.new.text)  # type: ignore[union-attr]
    logprobs = lm.model(torch.tensor([text.ids])).logits[0].log_softmax(-1)
    return -torch.stack([logprobs[i - 1, text.ids[i]] for i in range(text.first, len(text.ids))]).mean()


def plain_ft_m(lm: LM, requests: list[Fact], *, layers: tuple[int, ...], steps: int, lr: float) -> list[torch.Tensor]:
    weights: list[Any] = [lm.projection(n).weight for n in layers]
    old = [w.detach().clone() for w in weights]
    for w in weights:
        w.requires_grad_(True)
    optimiser = torch.optim.Adam(weights, lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.stack([loss_of(lm, r) for r in requests]).mean().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    values = [(w - o).detach() for w, o in zip(weights, old, strict=True)]
    return [m.T if lm.layout.transposed else m for m in values]


@pytest.mark.parametrize("layers", [(1,), (0, 2)], ids=str)
@pytest.mark.parametrize("requests", [[PERU], [NORWAY], [PERU, NORWAY]], ids=["peru", "norway", "both"])
def test_ft_m_equals_training_the_weights(
    tiny: LM, cache: Cache, requests: list[Fact], layers: tuple[int, ...]
) -> None:
    options: dict[str, Any] = {"steps": 10, "lr": 3e-3}
    edit = make_editor("ft_m", tiny, cache, {**options, "layer": layers, "stop_below": 0.0}).edit(requests)
    want = plain_ft_m(tiny, requests, layers=layers, **options)
    assert [d.weight for d in edit.deltas or ()] == [tiny.layout.weight(n) for n in layers]
    for delta, shift in zip(edit.deltas or (), want, strict=True):
        assert isinstance(delta, DenseDelta)
        assert (delta.value - shift).norm() < 1e-2 * shift.norm()
