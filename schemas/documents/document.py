"""The document, an edit in free text, and the probes that ask for it at three levels (MULFE §4.1 and §4.2)."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import field_validator

from schemas.core.records import UNLESS_EMPTY, Key, Language, Record, Text
from schemas.documents.statement import Group, Premise, Statement
from schemas.documents.tags import Tag
from schemas.facts import Source
from schemas.text.folding import fold

BLANK = "___"
"""What stands in a cloze where the answer belongs."""

Level = Literal[1, 2, 3]
"""1: literal. 2: a synonym or paraphrase. 3: reasoning or a summary."""

_BLANK = re.compile("_{3,}")
_NO_WORD = re.compile(r"[\W_]+")


class Document(Record):
    """An edit in free text: about two sentences that a model shall know.

    Attributes:
        text: The document.
        entity: What it is about, where the source says so.
        further_names: Other names of what it is about: of a second thing, or of the same; nothing is stored where there
            are none.
        statements: What it states, where its source says so (benchmarks of single facts); nothing is stored where there
            are none. ``simplify = "stated"`` hands them to methods for facts.
        title: Title of the page that it was taken from.
        source: Where it comes from; ``date`` is that of the page.
    """

    kind: ClassVar[str] = "document"
    language: Language = "en"
    text: Text
    entity: Text | None = None
    further_names: Annotated[tuple[Text, ...], UNLESS_EMPTY] = ()
    statements: Annotated[tuple[Statement, ...], UNLESS_EMPTY] = ()
    title: Text | None = None
    source: Source

    @property
    def statement(self) -> str:
        """The edit in words."""
        return self.text

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what it is said to be about."""
        return (*(() if self.entity is None else (self.entity,)), *self.further_names)


class DocumentProbe(Record):
    """A question or a cloze about a document, and its answer.

    Attributes:
        document: Key of the document.
        query: A question, or a cloze with ``___`` where the answer belongs.
        answer: The right answer after the edit.
        accepted: Other answers that are right, too.
        level: 1 (literal), 2 (paraphrase) or 3 (reasoning); None where the source does not say.
        tags: What is asked for, by which inference, which hard case.
        group: Which consequence of the edit it asks for, in benchmarks that say so.
        old_answer: The answer that was right before the edit.
        premises: What a model has to know already, or the answer says nothing about the edit: the other steps of a hop.
            Nothing is stored where there is no group, old answer or premise.
    """

    kind: ClassVar[str] = "document_probe"
    document: Key
    query: Text
    answer: Text
    accepted: tuple[Text, ...] = ()
    level: Level | None
    tags: tuple[Tag, ...] = ()
    group: Annotated[Group | None, UNLESS_EMPTY] = None
    old_answer: Annotated[Text | None, UNLESS_EMPTY] = None
    premises: Annotated[tuple[Premise, ...], UNLESS_EMPTY] = ()

    @field_validator("tags")
    @classmethod
    def _different_tags(cls, tags: tuple[Tag, ...]) -> tuple[Tag, ...]:
        if len(set(tags)) != len(tags):
            raise ValueError(f"a tag stands there twice ({', '.join(tags)})")
        return tags

    @property
    def answers(self) -> tuple[str, ...]:
        """The answer, then the others that are accepted."""
        return (self.answer, *self.accepted)

    @property
    def blanks(self) -> int:
        """The number of blanks in the query."""
        return len(_BLANK.findall(self.query))

    @property
    def filled(self) -> str | None:
        """A cloze of one blank with its answer filled in; None of any other query."""
        return _BLANK.sub(lambda _: self.answer, self.query) if self.blanks == 1 else None


def plain_words(text: str) -> str:
    """A text's letters and digits, words apart by one space; case, accents and punctuation are folded away.

    Example:
        >>> plain_words("'The Great' is a comedy-drama.")
        'the great is a comedy drama'
    """
    return _NO_WORD.sub(" ", fold(text).text).strip()


def contains_words(text: str, words: str) -> bool:
    """Whether words stand in a text one after the other, case and punctuation aside.

    Example:
        >>> contains_words("It opened in May 2020.", "may 2020"), contains_words("Romania", "Oman")
        (True, False)
    """
    return f" {plain_words(words)} " in f" {plain_words(text)} "


def is_literal(probe: DocumentProbe, document: Document) -> bool:
    """Whether a cloze, filled in, stands in its document word for word, case and punctuation aside.

    This is the definition of level 1 (MULFE §4.2). Of the 352 level-1 probes of our copy of the published evaluation
    part 254 hold it, one of them with a blank of four underscores.
    """
    return probe.filled is not None and contains_words(document.text, probe.filled)


def holds_answer(probe: DocumentProbe) -> bool:
    """Whether the answer's letters stand in its own query, in a longer word too; case and punctuation aside.

    In our copy of the published evaluation part 49 of 1,844 queries do, 39 of them as whole words.
    """
    answer = plain_words(probe.answer)
    return bool(answer) and answer in plain_words(probe.query)
