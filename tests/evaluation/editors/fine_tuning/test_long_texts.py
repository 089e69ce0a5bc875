"""Texts that are longer than the model reads: learnt as far as it reads, said once a method, counted in every edit."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning.training import CutTexts
from evaluation.editors.presets import make_editor
from schemas.documents.document import Document
from schemas.documents.simplified import StatedDocument
from tests.support.documents.records import make_document, stated_document
from tests.support.tiny import make

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
