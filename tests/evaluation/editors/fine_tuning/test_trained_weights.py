"""50 whole-model edits, a third of them broken off somewhere: the weights are bit-equal after every one."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning import trained_weights
from evaluation.editors.presets import make_editor
from schemas.core.errors import UserError
from tests.contracts.test_editors_restore import breaking
from tests.support.documents.records import make_document, stated_document
from tests.support.tiny import make

EDITS = 50
ERRORS = (KeyboardInterrupt, RuntimeError)
STATED = [
    stated_document(make_document(f"d/{n}", f"Line {n} runs to Rovo.", entity=None), subject=f"Line {n}", target="Rovo")
    for n in range(4)
]
SCOPES: list[dict[str, Any]] = [{}, {}, {"scope": "blocks", "layers": (1, 2)}, {"scope": "mlps"}]


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_weights_are_bit_equal_after_50_edits_a_third_broken_off(kind: str, tmp_path: Path) -> None:
    lm, draw, cache = make(kind), random.Random(f"whole-model/{kind}"), Cache(tmp_path)
    digest, counts = lm.weights_digest(), Counter[str]()
    head = lm.module(lm.layout.head)
    for n in range(EDITS):
        method, scope = ("ft_lm", "side")[n % 2], draw.choice(SCOPES)
        options = {"lr": 1e-3, "epochs": 2} if method == "ft_lm" else {"lr": 1e-3, "steps": 2, "instruction": "Say."}
        stated = draw.sample(STATED, draw.randint(1, 3))
        edit = make_editor(method, lm, cache, {**options, **scope}).edit(
            [one.document for one in stated] if method == "ft_lm" else stated
        )
        # n % 3 == 0 breaks off: in a pass or a step of training, while it is on, or while the weights are copied back
        moment = draw.choice(["pass", "step", "inside", "copy"]) if n % 3 == 0 else "none"
        error, after = draw.choice(ERRORS), draw.random() < 0.5
        changed = False
        try:
            with (
                breaking(head, "forward", draw.randint(1, 2) if moment == "pass" else 0, error, after=after),
                breaking(torch.optim.AdamW, "step", draw.randint(1, 2) if moment == "step" else 0, error, after=after),
                breaking(trained_weights, "put_back", int(moment == "copy"), error, after=True),
                edit.on(lm),
            ):
                changed = lm.weights_digest() != digest
                if moment == "inside":
                    raise error
        except ERRORS:
            counts[moment] += 1
        else:
            counts["none"] += 1
        assert lm.weights_digest() == digest, (n, method, scope, moment)
        assert changed is (moment not in ("pass", "step")), "an edit that changes nothing shows nothing"
        assert not any(p.requires_grad or p.grad is not None for p in lm.model.parameters())
    assert counts["none"] == EDITS - (EDITS + 2) // 3 and len(counts) == 5, counts


@pytest.mark.parametrize("method", ["ft_lm", "side"])
def test_too_little_memory_is_said_with_numbers_before_any_edit(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = make("llama")
    count = sum(p.numel() for p in lm.model.parameters())
    one_block = sum(p.numel() for p in lm.block(1).parameters())
    for free, fits in ((16 * count, True), (16 * count - 1, False), (0, False)):
        monkeypatch.setattr(trained_weights, "available_bytes", lambda device, free=free: free)
        if fits:
            make_editor(method, lm, Cache(tmp_path), {})
            continue
        with pytest.raises(UserError, match=f"'{method}' would train {count:,} weights, which needs 0.0 GiB") as error:
            make_editor(method, lm, Cache(tmp_path), {})
        assert "on cpu, where 0.0 GiB are free; train less" in str(error.value) and "\n" not in str(error.value)
    monkeypatch.setattr(trained_weights, "available_bytes", lambda device: 16 * one_block)
    make_editor(method, lm, Cache(tmp_path), {"scope": "blocks", "layers": (1,)})
    with pytest.raises(UserError, match="would train"):
        make_editor(method, lm, Cache(tmp_path), {"scope": "blocks", "layers": (0, 1)})
