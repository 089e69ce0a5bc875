"""Questions about events as probes, with the instructions before them (after ELKEN, Table 13; the wording is ours)."""

from __future__ import annotations

import re
from typing import NamedTuple

from evaluation.metrics.event_choice import EventChoice
from schemas.events.questions import LETTERS, FactQuestion, TendencyQuestion
from schemas.probes import GenerateProbe, ScoreProbe

FACT = "event_fact"
CHOICE = "event_choice"
LETTER = "event_letter"
OPEN = "event_open"
"""Purposes of the probes."""


class _Instructions(NamedTuple):
    """For every row; and, as published, for questions behind an event and for those without one."""

    same: str
    with_event: str
    without_event: str

    def chosen(self, choice: EventChoice) -> dict[str, str]:
        """Fields of a probe."""
        if choice.instruction == "same":
            return {"instruction": self.same}
        return {"instruction": self.without_event, "instruction_in_context": self.with_event}


_SHORT = "Answer with a name or a noun only, without a sentence."
_FACT = _Instructions(
    "Answer the question. If an event is given, it has happened: answer with it and with what you know. If the answer "
    f"is not known, say 'unknown'. {_SHORT}",
    "The event has happened. Answer the question with it and with what you know. If you do not know the answer, say "
    f"'unknown'. {_SHORT}",
    f"Answer the question with what you know. {_SHORT}",
)
_LETTER = "Answer with the letter of one option only."
_CHOICE = _Instructions(
    "Choose the likeliest option. If an event is given, it has happened: judge with it and with what you know. "
    + _LETTER,
    f"The event has happened. Choose the option that it makes likeliest. {_LETTER}",
    f"Choose the likeliest option with what you know. {_LETTER}",
)
_WORDS = "Answer in one to three sentences."
_OPEN = _Instructions(
    "Answer the question: what is likely now? If an event is given, it has happened: answer with it and with what you "
    f"know. {_WORDS}",
    f"The event has happened. Answer the question with it and with what you know: what is likely now? {_WORDS}",
    f"Answer the question with what you know: what is likely now? {_WORDS}",
)
_QUESTION = re.compile(r"^Question: (.*?)( \(A\) .* \(B\) .* \(C\) .*)?\nAnswer:$", re.DOTALL)


def fact_probe(question: FactQuestion, choice: EventChoice) -> GenerateProbe:
    """Ask for the short answer of a question; it ends with its line. Nothing is drawn."""
    return GenerateProbe(
        purpose=FACT,
        item=question.key,
        prompt=f"Question: {question.text}\nAnswer:",
        most=choice.answer_tokens,
        stop=("\n",),
        **_FACT.chosen(choice),
    )


def choice_probes(question: TendencyQuestion, choice: EventChoice) -> list[ScoreProbe]:
    """Ask for the letter of the right option, the options in their order and, by default, in both rotations of it.

    Probe ``k`` shows option ``(i + k) % 3`` behind letter ``i``. Its targets are the letters behind an opening bracket:
    they share all tokens but one, so all three are read in one pass.
    """
    shifts = range(len(LETTERS) if choice.orders == "cyclic" else 1)
    return [
        ScoreProbe(
            purpose=CHOICE,
            item=question.key,
            prompt=f"Question: {question.text} {_options(question, shift)}\nAnswer:",
            separator=" (",
            targets=LETTERS,
            **_CHOICE.chosen(choice),
        )
        for shift in shifts
    ]


def letter_probe(question: TendencyQuestion, choice: EventChoice) -> GenerateProbe:
    """Ask for the letter of the right option as text, the options in the data's order; it ends with its line."""
    return GenerateProbe(
        purpose=LETTER,
        item=question.key,
        prompt=f"Question: {question.text} {_options(question, 0)}\nAnswer:",
        most=choice.answer_tokens,
        stop=("\n",),
        **_CHOICE.chosen(choice),
    )


def open_probe(question: TendencyQuestion, choice: EventChoice) -> GenerateProbe:
    """Ask a tendency question without its options; the answer ends where a model would go on with another question."""
    return GenerateProbe(
        purpose=OPEN,
        item=question.key,
        prompt=f"Question: {question.text}\nAnswer:",
        most=choice.open_tokens,
        stop=("\nQuestion:", "\nEvent:"),
        **_OPEN.chosen(choice),
    )


def _options(question: TendencyQuestion, shift: int) -> str:
    shown = [question.options[(i + shift) % len(LETTERS)] for i in range(len(LETTERS))]
    return " ".join(f"({letter}) {option}" for letter, option in zip(LETTERS, shown, strict=True))


def question_of(prompt: str) -> str:
    r"""The question in the prompt of one of these probes, without its options; another prompt as it is.

    Example:
        >>> question_of("Question: How may prices change? (A) Up (B) Down (C) Not\nAnswer:")
        'How may prices change?'
    """
    match = _QUESTION.match(prompt)
    return match.group(1) if match else prompt


def has_options(prompt: str) -> bool:
    r"""Whether the prompt of one of these probes asks for the letter of an option.

    Example:
        >>> has_options("Question: How may prices change? (A) Up (B) Down (C) Not\nAnswer:")
        True
    """
    match = _QUESTION.match(prompt)
    return match is not None and match.group(2) is not None
