"""An edit of a model in memory: active inside the block alone, saved, and exact as a LoRA adapter."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import torch

import scedit
from evaluation import Editor, PromptEdit
from evaluation.saved_edits.formats import load_deltas
from schemas.core.errors import UserError
from tests.support.tiny import make

ROW = {"subject": "Peru", "relation": "capital", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}
SETTINGS = {"lora": {"layers": [1], "steps": 2, "rank": 2}, "ft": {"layer": 1, "steps": 2}}


def logits(model, tokenizer):
    ids = tokenizer("The capital of Peru is", return_tensors="pt").input_ids
    with torch.no_grad():
        return model(ids).logits


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("method", SETTINGS)
def test_the_edit_is_there_inside_the_block_alone(family: str, method: str) -> None:
    lm = make(family)
    before, plain = logits(lm.model, lm.tokenizer), {k: v.clone() for k, v in lm.model.state_dict().items()}
    found = scedit.edit(lm.model, lm.tokenizer, [ROW], method, **SETTINGS[method])
    with found.on(lm.model) as edited:
        assert edited is lm.model and not torch.equal(logits(edited, lm.tokenizer), before)
    assert all(torch.equal(value, plain[name]) for name, value in lm.model.state_dict().items())
    assert found.rewrite("a prompt") == "a prompt" and "1 facts" in repr(found)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_as_a_lora_adapter_it_is_exact(family: str) -> None:
    import peft

    lm = make(family)
    found = scedit.edit(lm.model, lm.tokenizer, [ROW], "lora", **SETTINGS["lora"])
    with found.on():
        expected = logits(lm.model, lm.tokenizer)
    adapter = found.as_lora()
    wrapped = peft.get_peft_model(copy.deepcopy(lm.model), adapter.config)
    assert not peft.set_peft_model_state_dict(wrapped, adapter.weights).unexpected_keys
    torch.testing.assert_close(logits(wrapped.eval(), lm.tokenizer), expected, atol=1e-5, rtol=1e-5)


def test_it_is_saved_as_the_command_saves_it(tmp_path: Path) -> None:
    lm = make("llama")
    found = scedit.edit(lm.model, lm.tokenizer, [ROW], "ft", **SETTINGS["ft"])
    folder = found.save(tmp_path / "deltas", saved_as="deltas")
    (saved,), (own,) = load_deltas(folder).deltas, found.edit.deltas
    torch.testing.assert_close(saved.matrix(), own.matrix())
    with pytest.raises(UserError, match="something here already"):
        found.save(folder)


class Said(Editor):
    """A method of one's own."""

    name, version, about = "said", 1, "the fact before every prompt"

    def edit(self, requests):
        return PromptEdit(prefix="So. ")


class Empty(Said):
    """It forgets to return its edit."""

    name = "empty"

    def edit(self, requests):
        return None


def test_a_method_of_ones_own_is_a_class() -> None:
    lm = make("llama")
    assert scedit.edit(lm.model, lm.tokenizer, [ROW], Said).rewrite("Go") == "So. Go"


@pytest.mark.parametrize(
    ("rows", "method", "words"),
    [
        ([ROW], Empty, "edit() returned a NoneType, which is no edit"),
        ([ROW], int, "the class int lacks"),
        ([ROW], None, "editors: a NoneType is given"),
        ([ROW], "ike", "'ike' learns from declared cases, and an edit by hand has none"),
        ([ROW, ROW | {"prompt": "x"}], "ft", "the table of facts, row 1: "),
    ],
)
def test_a_wrong_method_or_row_is_one_sentence(rows: list, method: object, words: str) -> None:
    lm = make("llama")
    with pytest.raises(UserError, match=re.escape(words)):
        scedit.edit(lm.model, lm.tokenizer, rows, method)


def test_how_it_is_saved_is_checked_first(tmp_path: Path) -> None:
    lm = make("llama")
    found = scedit.edit(lm.model, lm.tokenizer, [ROW], "ft", **SETTINGS["ft"])
    with pytest.raises(UserError, match="did you mean 'adapter'"):
        found.save(tmp_path / "new", saved_as="adaptor")


def test_what_cannot_be_edited_is_said_in_one_sentence() -> None:
    lm, other = make("llama"), make("gpt2")
    with pytest.raises(UserError, match="needs its tokenizer"):
        scedit.edit(lm.model, None, [ROW])
    with pytest.raises(UserError, match="unknown editor 'rme'"):
        scedit.edit(lm.model, lm.tokenizer, [ROW], "rme")
    with pytest.raises(UserError, match="nothing to edit"):
        scedit.edit(lm.model, lm.tokenizer, [ROW | {"new": None}])
    with pytest.raises(UserError, match="did you mean 'steps'"):
        scedit.edit(lm.model, lm.tokenizer, [ROW], "ft", stepps=1)
    found = scedit.edit(lm.model, lm.tokenizer, [ROW], "ft", **SETTINGS["ft"])
    with pytest.raises(UserError, match="another model"), found.on(other.model):
        pass
    with pytest.raises(UserError, match="no low-rank adapter"):
        found.as_lora()
