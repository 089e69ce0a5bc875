"""Open answers that a model wrote to tendency questions: what people and judges rate (ELKEN §4.1, T-G)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.core.records import Key, Record


class OpenAnswer(Record):
    """One answer in a model's own words to a tendency question, edited or not.

    Attributes:
        case: Key of the case whose event was edited.
        event: Key of that event, whatever stood before the question when it was asked.
        question: Key of the tendency question.
        model: Model that wrote it, with its revision where that is known.
        editor: Label of the editing method; ``none`` for the unedited model.
        edited: Whether an edit was active.
        sample: Number of the sample, from 0; sampling settings stand in the lineage.
        text: The raw text as it was decoded, whatever it is.
        refused: The model declined to answer.
    """

    kind: ClassVar[str] = "open_answer"
    case: Key
    event: Key
    question: Key
    model: str
    editor: str
    edited: bool
    sample: int = Field(default=0, ge=0)
    text: str
    refused: bool = False
