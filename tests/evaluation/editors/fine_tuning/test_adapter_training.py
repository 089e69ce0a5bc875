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
    made = make_editor("lora", lm, Cache(folder), params)
    assert isinstance(made, Lora)
    return made


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
def test_the_same_as_peft_one_at_a_time(kind: str, tmp_path: Path) -> None:
    """Edits end after different numbers of updates, so that some leave the batch in the middle."""
    lm = make(kind)
    digest = lm.weights_digest()
    made = lora(lm, tmp_path, steps=12, lr=0.02, stop_below=1.5, weight_decay=0.1)
    together, alone = made.edit_each(MANY), [made.edit([fact]) for fact in MANY]
    steps = [edit.notes["steps"] for edit in alone]
    assert len(set(steps)) > 2 and min(steps) < 12, steps
    for one, other in zip(together, alone, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-4)
        assert one.notes["norm_ratio"] == pytest.approx(other.notes["norm_ratio"], rel=1e-3)
        assert one.deltas and other.deltas and [d.weight for d in one.deltas] == [d.weight for d in other.deltas]
        for got, want in zip(one.deltas, other.deltas, strict=True):
            gap = (got.matrix() - want.matrix()).norm() / want.matrix().norm()
            assert gap < 0.01, "AdamW takes a step of full length at entries whose slope is rounding noise, too"
    assert lm.weights_digest() == digest and not any(m._forward_hooks for m in lm.model.modules())


def test_edits_depend_on_themselves_alone(tmp_path: Path) -> None:
    lm = make("llama")
    made = lora(lm, tmp_path, steps=4, modules=("q_proj", "down_proj"), layers=(0, 2))
    together, backwards = made.edit_each(MANY), made.edit_each(MANY[::-1])[::-1]
    for one, other in zip(together, backwards, strict=True):
        for got, want in zip(one.deltas or (), other.deltas or (), strict=True):
            torch.testing.assert_close(got.matrix(), want.matrix(), atol=1e-5, rtol=1e-3)
    assert len(together[0].deltas or ()) == 4 and made.edit_each([]) == []


def test_memory_bounds_how_many_train_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluation.editors.fine_tuning import lora as module

    lm = make("llama")
    made = lora(lm, tmp_path, steps=2)
    want = made.edit_each(MANY)
    sizes: list[int] = []
    real = module.AdapterTraining

    def counting(lm: LM, texts: Any, *args: Any, **more: Any) -> Any:
        sizes.append(len(texts))
        return real(lm, texts, *args, **more)

    monkeypatch.setattr(module, "AdapterTraining", counting)
    made.edit_each(MANY)
    assert sizes == [len(MANY)]
    monkeypatch.setattr(module, "CPU_BYTES", module.COPIES * made.bytes_an_edit * 2)
    got = made.edit_each(MANY)
    assert max(sizes[1:]) < len(MANY) and sum(sizes[1:]) == len(MANY)
    for one, other in zip(got, want, strict=True):
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-4)
