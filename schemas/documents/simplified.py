"""What a document is simplified to, so that methods for facts can edit it in (MULFE §5.2)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from pydantic import field_validator

from schemas.core.records import Key, PromptText, Record, Text
from schemas.documents.document import Document


class SimplifiedFact(Record):
    """A statement of a document as subject, prompt and target. Unlike a ``Fact`` it has no old object.

    Attributes:
        document: Key of the document.
        strategy: What made it ("openie", "lmqg_ner").
        subject: What the statement is about.
        prompt: With exactly one ``{}`` for the subject; the target follows after one space.
        target: What shall follow the prompt; empty where the source says nothing (43 of 642 published statements of
            one strategy), and then it edits nothing.
    """

    kind: ClassVar[str] = "simplified_fact"
    document: Key
    strategy: Key
    subject: Text
    prompt: PromptText
    target: str

    @field_validator("target")
    @classmethod
    def _without_ends(cls, target: str) -> str:
        if target != target.strip():
            raise ValueError("must not begin or end with white space")
        return target

    @property
    def filled_prompt(self) -> str:
        """The prompt with the subject filled in."""
        return self.prompt.replace("{}", self.subject)


class StatedDocument(NamedTuple):
    """A document as an edit, with the statements that were made of it; those without a target are left out."""

    document: Document
    facts: tuple[SimplifiedFact, ...] = ()
