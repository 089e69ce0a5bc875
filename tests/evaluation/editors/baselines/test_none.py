"""The unedited model: nothing changes, however many facts are given."""

from __future__ import annotations

import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
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
