"""ROME against a plain re-statement of itself."""

from __future__ import annotations

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit import closed_forms, readings, value_search
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Fact
from tests.support.editors import edit_requests
from tests.support.editors.edit_requests import CONTEXTS, NORWAY, PERU, rome

corpus = edit_requests.corpus


def nll(lm: LM, request: Fact) -> float:
    ids = torch.tensor([lm.encode(request.fact_prompt, request.new.text).ids])  # type: ignore[union-attr]
    first = lm.encode(request.fact_prompt, request.new.text).first  # type: ignore[union-attr]
    with torch.no_grad():
        logprobs = lm.model(ids).logits[0].log_softmax(-1)
    return -sum(float(logprobs[i - 1, ids[0, i]]) for i in range(first, ids.shape[1])) / (ids.shape[1] - first)


def test_direction_solves_for_the_key() -> None:
    half = torch.randn(6, 40)
    second, key = half @ half.T / 40, torch.randn(6)
    direction = closed_forms.direction(key, KeyCovariance(second, 40))
    want = torch.linalg.inv(second) @ key
    assert torch.allclose(direction.u, want / want.norm(), atol=1e-4)
    assert direction.whitened == pytest.approx(float(key @ want), rel=1e-3)
    assert torch.allclose(closed_forms.direction(key, None).u, key / key.norm())
    for few in (KeyCovariance(half[:, :3] @ half[:, :3].T, 3), KeyCovariance(second - 9 * torch.eye(6), 40)):
        with pytest.raises(UserError, match=f"moments of {few.tokens} tokens cannot be inverted"):
            closed_forms.direction(key, few)


def test_rome_writes_the_value_at_the_key(tiny: LM, cache: Cache, corpus: str) -> None:
    editor = rome(tiny, cache, corpus, steps=40)
    editor.prepare([])
    digest = tiny.weights_digest()
    edit = editor.edit([NORWAY])
    assert tiny.weights_digest() == digest
    (delta,) = edit.deltas or ()
    assert isinstance(delta, LowRankDelta) and delta.left.shape == (32, 1)
    assert delta.weight == tiny.layout.weight(1)
    settings = value_search.SearchSettings(
        steps=40, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=4.0, stop_below=0.05
    )
    target = value_search.search_values(tiny, 1, [NORWAY], CONTEXTS, settings=settings)[0].target
    bare, before = readings.subject_position(tiny, NORWAY), nll(tiny, NORWAY)
    with edit.on(tiny):
        value = readings.read_at(tiny, tiny.projection(1), [bare]).values[0]
        assert torch.allclose(value, target, atol=1e-3 * float(target.norm()))
        assert nll(tiny, NORWAY) < before - 0.5
    assert set(edit.notes) >= {"loss", "steps", "value_norm", "norm_ratio", "blow_up"}
    assert edit.notes["value_norm"] == pytest.approx(delta.norm(), rel=1e-4)
    assert edit.notes["blow_up"] is (edit.notes["norm_ratio"] > 1)


def test_several_requests_are_edited_in_turn(tiny: LM, cache: Cache, corpus: str) -> None:
    editor = rome(tiny, cache, corpus, steps=10)
    both = editor.edit([PERU, NORWAY])
    first = editor.edit([PERU])
    with first.on(tiny):
        second = editor.edit([NORWAY])
    assert len(both.deltas or ()) == 2
    for value, want in zip(both.deltas or (), (*(first.deltas or ()), *(second.deltas or ())), strict=True):
        assert torch.allclose(value.matrix(), want.matrix(), atol=1e-5)
    assert len(both.notes["requests"]) == 2
