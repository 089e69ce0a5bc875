"""All model classes with three methods: a prompt, a dense, a low-rank edit. They apply and leave no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor
from evaluation.editors.locate_edit.readings import subject_position
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.inference.scoring import score
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from tests.contracts.test_editors import FACTS, PROBES
from tests.support.tiny import CONFIGS, make

METHODS = ("prompt", "ft", "rome")
OPTIONS: dict[str, Any] = {"steps": 10, "templates": ("{}",), "covariance": False}

kinds = pytest.mark.parametrize("kind", CONFIGS)
methods = pytest.mark.parametrize("method", METHODS)


def editor(method: str, lm: LM, folder: Path) -> Editor:
    option_fields = EDITORS.get(method).Params.model_fields
    return make_editor(method, lm, Cache(folder), {n: v for n, v in OPTIONS.items() if n in option_fields})


@torch.no_grad()
def nll(lm: LM, *, planted: Delta | None = None) -> float:
    """NLL per token of the first fact's new object, by one plain pass; a delta may be planted at the subject only."""
    enc = lm.encode(FACTS[0].fact_prompt, PROBES[0].targets[0])
    last = subject_position(lm, FACTS[0]).last

    def plant(keys: Tensor, out: Tensor) -> Tensor:
        out = out.clone()
        if planted is not None:
            out[:, last] += planted.product(keys[:, last]).to(out.dtype)
        return out

    where = lm.module((planted.weight if planted else lm.layout.weight(0)).removesuffix(".weight"))
    with replace_output(where, plant):
        logprobs = lm.model(input_ids=torch.tensor([enc.ids])).logits[0].float().log_softmax(-1)
    numbers = range(enc.first, len(enc.ids))
    return -sum(float(logprobs[i - 1, enc.ids[i]]) for i in numbers) / len(numbers)


@kinds
@methods
def test_an_edit_applies_and_weights_come_back_bit_equal(kind: str, method: str, tmp_path: Path) -> None:
    lm = make(kind)
    digest, before, plain = lm.weights_digest(), score(lm, PROBES), nll(lm)
    edit = editor(method, lm, tmp_path).edit(FACTS[:1])
    assert lm.weights_digest() == digest, "making an edit changes nothing"
    with edit.on(lm):
        edited_scores = score(lm, PROBES[:1], rewrite=edit.rewrite)
        if edit.deltas:
            assert lm.weights_digest() != digest
    # also behind a norm and under a soft cap, where a wrong place would show as a search that gets nowhere
    if "nll" in edit.notes and edit.deltas:  # a search for one token's value: the edit must hold what was searched
        assert edit.notes["nll"] < plain
        assert nll(lm, planted=edit.deltas[0]) == pytest.approx(edit.notes["nll"], abs=0.01)
    elif edit.deltas:
        with edit.on(lm):
            assert nll(lm) < plain
    assert edited_scores[0].error is None and edited_scores != before[:1]
    assert lm.weights_digest() == digest and score(lm, PROBES) == before
    for delta in edit.deltas or ():
        assert delta.weight.startswith(lm.layout.blocks) and delta.shape == (lm.layout.width, lm.layout.inner)


@pytest.mark.parametrize(
    "kind", [k if k in ("gpt2", "gemma2") else pytest.param(k, marks=pytest.mark.slow) for k in CONFIGS]
)
@pytest.mark.parametrize("method", ["ft", "rome"])
def test_bfloat16_weights_with_float32_edits(kind: str, method: str, tmp_path: Path) -> None:
    lm = make(kind, dtype=torch.bfloat16)
    digest = lm.weights_digest()
    edit = editor(method, lm, tmp_path).edit(FACTS[:1])
    for delta in edit.deltas or ():
        parts = (delta.left, delta.right) if isinstance(delta, LowRankDelta) else (delta.value,)
        assert {p.dtype for p in parts} == {torch.float32} and all(p.isfinite().all() for p in parts)
    before = score(lm, PROBES[:1])
    with edit.on(lm):
        assert lm.weights_digest() == digest, "narrow weights are not touched"
        assert score(lm, PROBES[:1]) != before
    assert score(lm, PROBES[:1]) == before
