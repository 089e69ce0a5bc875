"""Script questions, scripts and script prompts (ScEdit §3.1 and Appendix A)."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from schemas.core.records import Key, Language, Record, Text

MAX_STEPS = 9
MAX_WORDS = 7  # "less than 8 words" a step, Appendix A

_STEP = re.compile(r"^\s*step\s*\d+\s*[:.)-]?\s*", re.IGNORECASE)


def strip_label(step: str) -> str:
    """A step without its "Step k:" label.

    Example:
        >>> strip_label("Step 4: Buy a flight ticket")
        'Buy a flight ticket'
    """
    return _STEP.sub("", step, count=1).strip()


def words(step: str) -> int:
    """Number of words of a step, counted between white space after its label."""
    return len(strip_label(step).split())


def _step(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise ValueError("a step stands on one line")
    if _STEP.match(text):
        raise ValueError("a step is kept without its 'Step k:' label")
    if words(text) > MAX_WORDS:
        raise ValueError(f"a step has at most {MAX_WORDS} words, this one has {words(text)}: {text!r}")
    return text


Step = Annotated[Text, AfterValidator(_step)]


def render(question: str, steps: tuple[str, ...]) -> str:
    r"""Question and labelled steps, one to a line, as the paper's Table 4 shows them.

    Example:
        >>> render("How to go?", ("Walk", "Run"))
        'How to go?\nStep 1: Walk\nStep 2: Run'
    """
    return "\n".join([question, *(f"Step {k}: {step}" for k, step in enumerate(steps, 1))])


class ScriptQuestion(Record):
    """A "How ..." question whose correct script depends on the fact with key ``fact``."""

    kind: ClassVar[str] = "question"
    fact: Key
    language: Language = "en"
    text: Text


class Script(Record):
    """Steps that answer a script question: at most nine, each of fewer than eight words, kept without labels."""

    kind: ClassVar[str] = "script"
    question: Key
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=MAX_STEPS)]


class ScriptPrompt(Record):
    """A script cut before its first mention of the object: the cloze prompt of S-ES, S-NS and S-BO.

    Attributes:
        fact: Key of the fact that the prompt asks about (a neighbour's prompt asks about the neighbour fact).
        question: Key of the script question; None for published prompts that come without.
        script: Key of the script; None for published prompts that come without.
        text: Question and steps up to the mention, without the separator.
        offset: Characters of the rendered question and script before the mention (``len(text) + len(separator)``).
        step: Number of the step that was cut, from 1; None where the source does not say.
        separator: What stood between ``text`` and the mention (" ", "(", '"', newline ...).
        targets: The object as mentioned (first), then the objects it competes with.
    """

    kind: ClassVar[str] = "prompt"
    fact: Key
    question: Key | None = None
    script: Key | None = None
    text: Text
    offset: int
    step: int | None = None
    separator: str = " "
    targets: Annotated[tuple[Text, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _offset(self) -> ScriptPrompt:
        if self.offset != len(self.text) + len(self.separator):
            raise ValueError(
                f"offset {self.offset} is not the length of the text and separator ({len(self.text)} + "
                f"{len(self.separator)})"
            )
        return self
