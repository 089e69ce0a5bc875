"""Scripts that a model wrote in answer to a script question: what people and judges rate."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.core.records import Key, Record


class GeneratedScript(Record):
    """One generated answer to a script question, edited or not (ScEdit §3.1, text-level metrics).

    Attributes:
        case: Key of the case that was edited.
        fact: Key of the fact that the question hinges on.
        question: Key of the script question.
        model: Model that wrote it, with its revision where that is known.
        editor: Label of the editing method; ``none`` for the unedited model.
        edited: Whether an edit was active (the paper's tag: ``post`` if so, else ``pre``).
        sample: Number of the sample, from 0; sampling settings stand in the lineage.
        text: The raw text as it was decoded, whatever it is.
        steps: The steps read out of it without their labels; empty where it has no such form.
        refused: The model declined to answer.
    """

    kind: ClassVar[str] = "generated"
    case: Key
    fact: Key
    question: Key
    model: str
    editor: str
    edited: bool
    sample: int = Field(default=0, ge=0)
    text: str
    steps: tuple[str, ...] = ()
    refused: bool = False
