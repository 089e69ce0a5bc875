"""Concrete edits are edits: what they change, what they leave."""

from __future__ import annotations

import pytest

from evaluation.edits.edit import Edit, NoEdit, PromptEdit, WeightEdit
from evaluation.models.language_model import LM
from tests.evaluation.edits.test_weight_deltas import low_rank


@pytest.mark.parametrize("edit", [NoEdit(), PromptEdit(prefix="So. "), WeightEdit(())], ids=lambda e: type(e).__name__)
def test_they_are_edits(edit: Edit, tiny: LM) -> None:
    assert isinstance(edit, Edit)
    assert edit.deltas == () and edit.notes == {}
    digest = tiny.weights_digest()
    with edit.on(tiny) as lm:
        assert lm is tiny and tiny.weights_digest() == digest


def test_rewriting() -> None:
    assert NoEdit().rewrite("a") == "a" == WeightEdit(()).rewrite("a")
    assert PromptEdit(prefix="So. ").rewrite("a") == "So. a"


def test_weight_edit_can_be_put_on_twice(tiny: LM) -> None:
    edit, digest = WeightEdit((low_rank(tiny),)), tiny.weights_digest()
    calls = []
    for _ in range(2):
        with edit.on(tiny) as lm:
            calls.append(lm.weights_digest())
        assert tiny.weights_digest() == digest
    assert calls[0] == calls[1] != digest
