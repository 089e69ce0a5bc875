"""Fine-tuning on texts: steps against a loop written out, weights back, texts longer than the model reads."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning.ft_lm import token_rows
from evaluation.editors.fine_tuning.training import CutTexts
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.documents.document import Document
from schemas.documents.simplified import StatedDocument
from tests.support.documents.records import make_document, stated_document
from tests.support.events import make_event
from tests.support.tiny import make

EVENTS = [
    make_event("e/1", "The capital of Peru is Oslo."),
    make_event("e/2", "Norway is a country in the Gulf of Guinea."),
    make_event("e/3", "Lima left."),
]


def ft_lm(lm: LM, folder: Path, **params: Any) -> Any:
    return make_editor("ft_lm", lm, Cache(folder), params)


def tokens(lm: LM, text: str) -> torch.Tensor:
    """A text as a row of tokens with an end token."""
    return torch.tensor([[*lm.tokenizer(text)["input_ids"], lm.tokenizer.eos_token_id]])


def loss_of(lm: LM, text: str) -> float:
    ids = tokens(lm, text)
    with torch.no_grad():
        return float(lm.model(input_ids=ids, labels=ids).loss)


def test_two_steps_are_those_of_a_plain_loop(tiny: LM, tmp_path: Path) -> None:
    twin = make(tiny.name.removeprefix("tiny-"))
    twin.model.requires_grad_(True)
    optimiser = torch.optim.AdamW(twin.model.parameters(), lr=1e-3, weight_decay=0.0)
    for _ in range(2):
        ids = tokens(twin, EVENTS[0].text)
        twin.model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    edit = ft_lm(tiny, tmp_path, epochs=2, lr=1e-3).edit(EVENTS[:1])
    digest = tiny.weights_digest()
    with edit.on(tiny):
        ids = tokens(tiny, EVENTS[1].text)
        with torch.no_grad():  # weights without a slope (biases of keys) take steps of rounding, and change no answer
            assert torch.allclose(tiny.model(ids).logits, twin.model(ids).logits, atol=1e-4)
    assert tiny.weights_digest() == digest
    assert edit.notes["steps"] == 2 and edit.notes["rows"] == 1 and edit.notes["blow_up"] is False


@pytest.mark.parametrize("scope", ["all", "blocks", "mlps"])
def test_the_text_becomes_likelier_and_only_the_scope_moves(scope: str, tmp_path: Path) -> None:
    lm = make("llama")
    layers = {} if scope == "all" else {"layers": (1,)}
    edit = ft_lm(lm, tmp_path, scope=scope, epochs=4, lr=3e-3, **layers).edit(EVENTS[:1])
    before = {name: p.detach().clone() for name, p in lm.model.named_parameters()}
    was = loss_of(lm, EVENTS[0].text)
    with edit.on(lm):
        changed_names = {name for name, p in lm.model.named_parameters() if not torch.equal(p, before[name])}
        assert loss_of(lm, EVENTS[0].text) < was - 0.1
    record = {"all": set(before), "blocks": {n for n in before if ".layers.1." in n}, "mlps": {lm.layout.weight(1)}}
    assert changed_names <= record[scope] and len(changed_names) >= 0.6 * len(record[scope])


def test_all_requests_are_trained_together_in_batches(tmp_path: Path) -> None:
    lm = make("gpt2")
    edit = ft_lm(lm, tmp_path, epochs=2, batch=2).edit(EVENTS)
    with edit.on(lm):
        pass
    assert (edit.notes["rows"], edit.notes["steps"]) == (3, 4), "two steps an epoch: two rows and one"


def test_blocks_join_the_texts_and_take_fewer_steps(tmp_path: Path) -> None:
    lm = make("gpt2")
    rows, blocks = (token_rows(lm, [e.text for e in EVENTS], pack=p) for p in (None, 48))
    assert len(rows) == 3 and [t for b in blocks for t in b] == [t for r in rows for t in r]
    assert all(len(b) == 48 for b in blocks[:-1]) and all(r[-1] == lm.tokenizer.eos_token_id for r in rows)
    with pytest.raises(UserError, match="the model reads 96 tokens at once"):
        token_rows(lm, ["x"], pack=97)
    assert token_rows(lm, ["Lima " * 300]) == [token_rows(lm, ["Lima " * 300])[0][:96]]


def test_a_text_of_one_token_without_an_end_token_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("gpt2")
    before = {name: value.clone() for name, value in lm.model.state_dict().items()}
    monkeypatch.setattr(type(lm.tokenizer), "eos_token_id", None, raising=False)
    text = next(letter for letter in "abcdefghij" if len(lm.token_ids(letter)) == 1)
    edit = ft_lm(lm, tmp_path, epochs=1).edit([make_event("e/9", text)])
    with pytest.raises(UserError, match="the text has no token that follows another: nothing to learn"), edit.on(lm):
        pass
    assert all(bool((before[name] == value).all()) for name, value in lm.model.state_dict().items())


def test_narrow_weights_and_layers_of_everything_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match='rounded away in bfloat16.*dtype = "float32"'):
        ft_lm(make("gpt2", dtype=torch.bfloat16), tmp_path).edit(EVENTS)
    with pytest.raises(UserError, match="scope 'all' trains every weight"):
        ft_lm(make("gpt2"), tmp_path, layers=(1,))


LONG = make_document("d/long", ("Lima " * 150).strip(), entity=None)


SHORT = make_document("d/short", "Line 9 runs to Lima.", entity=None)


OPTIONS: dict[str, dict[str, Any]] = {
    "ft_lm": {"epochs": 1, "lr": 1e-3},
    "side": {"steps": 1, "lr": 1e-3},
    "lora": {"steps": 1, "layers": [0]},
}


def request_for(method: str, document: Document) -> Document | StatedDocument:
    return stated_document(document, subject="Lima", target="Lima") if method == "side" else document


@pytest.mark.parametrize("method", OPTIONS)
def test_each_method_says_it_once_and_every_edit_counts(
    method: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lm = make("gpt2")
    tokens = len(lm.tokenizer(LONG.text)["input_ids"])
    editor: Any = make_editor(method, lm, Cache(tmp_path), OPTIONS[method])
    with caplog.at_level(logging.WARNING, "evaluation.editors.fine_tuning.training"):
        edits = [editor.edit([request_for(method, one)]) for one in (SHORT, LONG, LONG)]
        for edit in edits:
            with edit.on(lm):
                pass
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"'{method}' learns the first {lm.limit} tokens of longer texts, such as one of {tokens}:")
    assert [edit.notes.get("texts_cut") for edit in edits] == [None, 1, 1]


def test_texts_joined_into_rows_are_not_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lm = make("gpt2")
    edit = make_editor("ft_lm", lm, Cache(tmp_path), {"epochs": 1, "pack": 48}).edit([LONG])
    with edit.on(lm):
        assert edit.notes["tokens"] > 150 and "texts_cut" not in edit.notes
    assert "longer texts" not in caplog.text


def test_a_text_that_just_fits_and_a_model_without_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    lm = make("gpt2")
    length = len(lm.tokenizer(SHORT.text)["input_ids"])
    lm.limit = length
    assert CutTexts("ft_lm", lm).note([SHORT.text, SHORT.text]) == {}
    lm.limit = length - 1
    assert CutTexts("ft_lm", lm).note([SHORT.text, SHORT.text]) == {"texts_cut": 2}
    lm.limit = None
    assert CutTexts("ft_lm", lm).note([LONG.text]) == {}
    assert caplog.text.count("longer texts") == 1
