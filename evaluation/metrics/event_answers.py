"""Tendencies of events by what the model writes: the letter of an option (T-M), and open answers (T-G).

Open answers are rated by a judge or people after the run (``scedit judge RUN``), and a report attaches the ratings.
Until then, and where a rating is unscored, these metrics have no value: never a zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from evaluation.metrics.base import Answers, row
from evaluation.metrics.event_questions import letter_probe, open_probe
from evaluation.metrics.events import (
    EventMetric,
    Question,
    QuestionMetric,
    WholeEventMetric,
    WrittenLocality,
    all_in_scope,
    tendencies_in_scope,
    tendencies_out_of_scope,
)
from evaluation.metrics.text_level import text_of
from schemas.answers import Answer, ItemScore
from schemas.events.questions import LETTERS, TendencyQuestion
from schemas.probes import Probe
from schemas.ratings import CONSISTENCY, TENDENCY

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

    @override
    def tendency_probes(self, question: TendencyQuestion) -> list[Probe]:
        return [letter_probe(question, self.choice)]

    def right_tendency(self, question: TendencyQuestion, answers: Answers) -> ItemScore:
        """1 for the right letter, 0 for another and for none."""
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

    asks = tendencies_out_of_scope

    name: ClassVar[str] = "ev_letter_local"
    title: ClassVar[str] = "Letters, locality"
    about: ClassVar[str] = (
        "Share of tendency questions out of scope with the same written letter as before (ELKEN Table 2)"
    )

    def compare(self, question: Question, now: str, then: str, answer: Answer | None) -> ItemScore:
        """1 for the same letter; an answer without one is no choice, and the same as nothing."""
        letter = letter_of(now)
        return self.item(question, float(letter is not None and letter == letter_of(then)))


NOT_RATED = "not rated: scedit judge RUN, or the task rate_answer"
FULL_MARKS = TENDENCY.points[1]
OVERALL = "overall"
Ratings = Mapping[str, int | None]
"""Ratings of one answer by aspect; ``consistency`` is that of the answer and the one before the edit."""


class RatedAnswer(Answer):
    """An answer with what raters gave it; no journal holds one.

    Attributes:
        rated_by: By source: the ratings by aspect, None for one that is unscored.
        source: Whose ratings count; empty where nobody rated.
    """

    rated_by: Mapping[str, Ratings] = Field(default_factory=dict)
    source: str = ""


def rating_of(answer: Answer | None, aspect: str) -> tuple[int | None, str]:
    """The rating that counts of an answer, or None and why there is none."""
    written = text_of(answer)
    if isinstance(written, str):
        return None, written
    ratings = answer.rated_by.get(answer.source, {}) if isinstance(answer, RatedAnswer) else {}
    if aspect not in ratings:
        return None, NOT_RATED
    return ratings[aspect], "" if ratings[aspect] is not None else f"the rating of {aspect} is unscored"


class OpenQuestions(EventMetric):
    """Asks tendency questions without their options; factual ones as they are."""

    aspect: ClassVar[str] = OVERALL

    asks = tendencies_in_scope

    @override
    def tendency_probes(self, question: TendencyQuestion) -> list[Probe]:
        return [open_probe(question, self.choice)]

    def right_tendency(self, question: TendencyQuestion, answers: Answers) -> ItemScore:
        """1 for full marks, 0 for fewer; unscored where there is no rating."""
        value, why = rating_of(answers.get(self.probes_of(question)[0].id), self.aspect)
        return self.item(question, None if value is None else float(value == FULL_MARKS), why)


# Does the answer in the model's own words get full marks overall (Table 2, T-G, Q-level)?
EventOpen = row(
    OpenQuestions,
    QuestionMetric,
    name="ev_open",
    title="Open answers",
    about=(
        "Share of open answers to tendency questions in scope that get full marks overall (ELKEN Table 2, T-G, Q-level)"
    ),
)


EventOpenAccuracy = row(
    EventOpen,
    name="ev_open_accuracy",
    title="Accuracy",
    about="Share of open answers with full marks for accuracy (ELKEN Table 5)",
    aspect="accuracy",
)


EventOpenCoherence = row(
    EventOpen,
    name="ev_open_coherence",
    title="Coherence",
    about="Share of open answers with full marks for coherence (ELKEN Table 5)",
    aspect="coherence",
)


EventOpenComprehensiveness = row(
    EventOpen,
    name="ev_open_comprehensiveness",
    title="Comprehensiveness",
    about="Share of open answers with full marks for comprehensiveness (ELKEN Table 5)",
    aspect="comprehensiveness",
)


# Do all open answers about the event get full marks overall (Table 2, T-G, E-level)?
EventOpenWhole = row(
    OpenQuestions,
    WholeEventMetric,
    name="ev_open_edit",
    title="Open answers, whole event",
    about="Share of events all of whose open answers get full marks overall (ELKEN Table 2, E-level)",
)


EventAllOpenWhole = row(
    OpenQuestions,
    WholeEventMetric,
    name="ev_all_edit",
    title="Whole event, facts and open answers",
    about=(
        "Share of events with tendency questions all of whose facts are right and whose open answers get full marks "
        "(ELKEN Table 2, overall)"
    ),
    asks=all_in_scope,
)


class EventOpenLocality(WrittenLocality, OpenQuestions):
    """Do the answers before and after the edit say the same tendency, out of scope (Table 2, T-G, locality)?"""

    asks = tendencies_out_of_scope

    name: ClassVar[str] = "ev_open_local"
    title: ClassVar[str] = "Open answers, locality"
    about: ClassVar[str] = (
        "Share of open answers out of scope that are rated to say the same tendency as before (ELKEN Table 2)"
    )
    unedited: ClassVar[float | None] = 1.0

    def compare(self, question: Question, now: str, then: str, answer: Answer | None) -> ItemScore:
        """1 where the pair's consistency has full marks; the same words say the same, whoever would rate them."""
        if now.strip() == then.strip():
            return self.item(question, 1.0)
        value, why = rating_of(answer, CONSISTENCY.aspects[0])
        return self.item(question, None if value is None else float(value == CONSISTENCY.points[1]), why)
