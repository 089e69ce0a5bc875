"""FT against training the weight itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.models.language_model import LM
from schemas.facts import Fact
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.plain_training import changes_by_adam


def published_loss(lm: LM, request: Fact) -> torch.Tensor:
    """FT's, as published: every target token at the last prompt position."""
    text = lm.encode(request.fact_prompt, request.new_object.text)
    logprobs = lm.model(torch.tensor([text.ids[: text.first]])).logits[0, -1].log_softmax(-1)
    return -logprobs[list(text.target)].mean()


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
    (want,) = changes_by_adam(tiny, [1], [partial(published_loss, tiny, request_)] * 12, lr=1e-2, eps=eps)
    assert (delta.value - want).norm() < 1e-3 * want.norm()
    assert edit.notes["norm_ratio"] > 0 and edit.notes["steps"] > 0 and edit.notes["blow_up"] is False
    if eps:
        assert float(delta.value.abs().max()) == pytest.approx(eps)
