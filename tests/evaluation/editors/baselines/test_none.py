"""The unedited model: nothing changes, however many facts are given."""

from __future__ import annotations

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import DataError
from tests.support.facts import peru_fact


def test_model_and_prompts_stay(tiny: LM, cache: Cache) -> None:
    digest, prompt = tiny.weights_digest(), "The capital of Peru is"
    ids = torch.tensor([tiny.tokenizer.encode(prompt)])
    with torch.no_grad():
        before = tiny.model(input_ids=ids).logits
    edit = make_editor("none", tiny, cache).edit([peru_fact()])
    assert edit.rewrite(prompt) == prompt and not edit.deltas and not edit.notes
    with torch.no_grad(), edit.on(tiny) as edited_lm:
        assert edited_lm.weights_digest() == digest
        assert torch.equal(edited_lm.model(input_ids=ids).logits, before)
    assert tiny.weights_digest() == digest


def test_every_regime_can_ask_for_it(tiny: LM, cache: Cache) -> None:
    """Alone, many at once, after earlier edits, and none at all."""
    editor, facts = make_editor("none", tiny, cache), [peru_fact(), peru_fact("f/other")]
    editor.prepare([])
    each = editor.edit_each(facts)
    assert len(each) == 2 and editor.edit_each([]) == []
    for edit in (*each, editor.edit(facts), editor.edit([]), editor.edit_after(facts[:1], each)):
        assert edit.rewrite("x") == "x" and not edit.deltas


def test_it_takes_no_option(tiny: LM, cache: Cache) -> None:
    with pytest.raises(DataError, match="strength"):
        make_editor("none", tiny, cache, {"strength": 1.0})
