"""Edits trained in one batch are those trained alone, whichever of them stops early and however many fit."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from tests.contracts.test_editors import FACTS
from tests.support.tiny import make

MANY = [*FACTS, *(fact.model_copy(update={"prompt": "Everybody says that " + fact.prompt}) for fact in FACTS)]
METHODS: dict[str, dict[str, Any]] = {
    "ft": {"layer": 1, "steps": 12, "lr": 1e-2, "stop_below": 5.0},
    "ft_l": {"layer": 1, "steps": 12, "lr": 1e-2, "stop_below": 5.0, "eps": 0.1},
    "ft_m": {"layer": (0, 2), "steps": 12, "lr": 1e-2, "stop_below": 2.6},
    "lora": {"steps": 12, "lr": 0.02, "stop_below": 1.5, "weight_decay": 0.1},
}


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
@pytest.mark.parametrize("method", METHODS)
def test_edits_that_stop_at_different_steps_are_those_made_alone(method: str, kind: str, cache: Cache) -> None:
    lm = make(kind)
    editor, digest = make_editor(method, lm, cache, METHODS[method]), lm.weights_digest()
    together, alone = editor.edit_each(MANY), [editor.edit([fact]) for fact in MANY]
    steps = [edit.notes["steps"] for edit in alone]
    assert min(steps) < max(steps), steps
    for one, other in zip(together, alone, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-3)
        for value, want in zip(one.deltas or (), other.deltas or (), strict=True):
            gap = (value.matrix() - want.matrix()).norm() / want.matrix().norm()
            assert value.weight == want.weight and gap < 0.01, (
                "Adam takes whole steps where a gradient is only rounding"
            )
    assert lm.weights_digest() == digest and not any(m._forward_hooks for m in lm.model.modules())
    assert editor.edit_each([]) == []


def test_a_batch_that_runs_out_of_memory_is_halved(tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    editor: Any = make_editor("ft", tiny, cache, METHODS["ft"])
    real, want = editor._train, editor.edit_each(MANY)

    def failing(edits: list[Any]) -> Any:
        if len(edits) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real(edits)

    monkeypatch.setattr(editor, "_train", failing)
    for one, other in zip(editor.edit_each(MANY), want, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
