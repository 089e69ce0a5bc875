"""Tendencies of events by the letter that is written: no probabilities, so a model behind an endpoint can be asked."""

from __future__ import annotations

import re
from typing import ClassVar

from evaluation.metrics.base import Answers, row
from evaluation.metrics.events.base import EventMetric, Question, QuestionMetric, WholeEventMetric
from evaluation.metrics.events.probes import letter_probe
from evaluation.metrics.events.tendencies import tendencies_in_scope
from evaluation.metrics.events.written_locality import WrittenLocality
from evaluation.metrics.text_level.base import text_of
from schemas.answers import Answer, ItemScore
from schemas.events.questions import LETTERS, FactQuestion
from schemas.probes import Probe

_BRACKETS, _STOP = re.compile(r"\(([ABC])\)"), re.compile(r"([ABC])\.")


def letter_of(text: str) -> str | None:
    r"""The letter that an answer names, as published: its first line's letter in brackets, else before a full stop.

    Else the whole line, where it is a letter; None where it is none.

    Example:
        >>> [letter_of(text) for text in ("(B) They fall\nQuestion:", " C. Nothing", "A", "They rise", "")]
        ['B', 'C', 'A', None, None]
    """
    lines = text.strip().splitlines()
    line = lines[0].strip() if lines else ""
    if match := _BRACKETS.search(line) or _STOP.match(line):
        return match.group(1)
    return line if line in LETTERS else None


class WrittenLetters(EventMetric):
    """Asks tendency questions with their options in the data's order, and reads the letter that is written."""

    asks = tendencies_in_scope

    def probes_of(self, question: Question) -> list[Probe]:
        """The letter, as text."""
        if isinstance(question, FactQuestion):
            return super().probes_of(question)
        return [letter_probe(question, self.choice)]

    def right(self, question: Question, answers: Answers) -> ItemScore:
        """1 for the right letter, 0 for another and for none."""
        if isinstance(question, FactQuestion):
            return super().right(question, answers)
        written = text_of(answers.get(self.probes_of(question)[0].id))
        if isinstance(written, str):
            return self.item(question, None, written)
        return self.item(question, float(letter_of(written.text) == question.answer))


# Is the letter that the model writes the right one (Table 2, T-M, Q-level, as published)?
EventLetter = row(
    WrittenLetters,
    QuestionMetric,
    name="ev_letter",
    title="Letters, written",
    about="Share of tendency questions in scope whose written letter is right, options in the data's order "
    "(ELKEN Table 2, T-M, Q-level)",
)


# Are all letters written about the event right (Table 2, T-M, E-level, as published)?
EventLetterWhole = row(
    WrittenLetters,
    WholeEventMetric,
    name="ev_letter_edit",
    title="Letters, whole event",
    about="Share of events all of whose written letters in scope are right (ELKEN Table 2, E-level)",
)


class EventLetterLocality(WrittenLocality, WrittenLetters):
    """Is the same letter written before and after the edit, out of scope (Table 2, T-M, locality)?"""

    name: ClassVar[str] = "ev_letter_local"
    title: ClassVar[str] = "Letters, locality"
    about: ClassVar[str] = (
        "Share of tendency questions out of scope with the same written letter as before (ELKEN Table 2)"
    )

    def compare(self, question: Question, now: str, then: str, answer: Answer | None) -> ItemScore:
        """1 for the same letter; an answer without one is no choice, and the same as nothing."""
        letter = letter_of(now)
        return self.item(question, float(letter is not None and letter == letter_of(then)))
