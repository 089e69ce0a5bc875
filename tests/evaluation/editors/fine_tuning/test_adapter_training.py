"""Adapters trained side by side equal those that peft trains one edit after the other, whenever edits end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning.lora import Lora
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from tests.contracts.test_editors import FACTS
from tests.support.tiny import make

MANY = [*FACTS, *(fact.model_copy(update={"prompt": "Everybody says that " + fact.prompt}) for fact in FACTS)]


def lora(lm: LM, folder: Path, **params: Any) -> Lora:
    method = make_editor("lora", lm, Cache(folder), params)
    assert isinstance(method, Lora)
    return method


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
def test_the_same_as_peft_one_at_a_time(kind: str, tmp_path: Path) -> None:
    """Edits end after different numbers of updates, so that some leave the batch in the middle."""
    lm = make(kind)
    digest = lm.weights_digest()
    method = lora(lm, tmp_path, steps=12, lr=0.02, stop_below=1.5, weight_decay=0.1)
    joint_edits, edits = method.edit_each(MANY), [method.edit([fact]) for fact in MANY]
    steps = [edit.notes["steps"] for edit in edits]
    assert len(set(steps)) > 2 and min(steps) < 12, steps
    for one, other in zip(joint_edits, edits, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-4)
        assert one.notes["norm_ratio"] == pytest.approx(other.notes["norm_ratio"], rel=1e-3)
        assert one.deltas and other.deltas and [d.weight for d in one.deltas] == [d.weight for d in other.deltas]
        for value, want in zip(one.deltas, other.deltas, strict=True):
            gap = (value.matrix() - want.matrix()).norm() / want.matrix().norm()
            assert gap < 0.01, "AdamW takes a step of full length at entries whose slope is rounding noise, too"
    assert lm.weights_digest() == digest and not any(m._forward_hooks for m in lm.model.modules())


def test_edits_depend_on_themselves_alone(tmp_path: Path) -> None:
    lm = make("llama")
    method = lora(lm, tmp_path, steps=4, modules=("q_proj", "down_proj"), layers=(0, 2))
    edits, backwards = method.edit_each(MANY), method.edit_each(MANY[::-1])[::-1]
    for one, other in zip(edits, backwards, strict=True):
        for value, want in zip(one.deltas or (), other.deltas or (), strict=True):
            torch.testing.assert_close(value.matrix(), want.matrix(), atol=1e-5, rtol=1e-3)
    assert len(edits[0].deltas or ()) == 4 and method.edit_each([]) == []


def test_memory_bounds_how_many_train_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluation.editors.fine_tuning import lora as module

    lm = make("llama")
    method = lora(lm, tmp_path, steps=2)
    want = method.edit_each(MANY)
    sizes: list[int] = []
    real = module.AdapterTraining

    def counting(lm: LM, texts: Any, *args: Any, **more: Any) -> Any:
        sizes.append(len(texts))
        return real(lm, texts, *args, **more)

    monkeypatch.setattr(module, "AdapterTraining", counting)
    method.edit_each(MANY)
    assert sizes == [len(MANY)]
    monkeypatch.setattr(module, "CPU_BYTES", module.COPIES * method.bytes_an_edit * 2)
    edits = method.edit_each(MANY)
    assert max(sizes[1:]) < len(MANY) and sum(sizes[1:]) == len(MANY)
    for one, other in zip(edits, want, strict=True):
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-4)
