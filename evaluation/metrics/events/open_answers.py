"""Tendencies of events by open answers (T-G): answers in a model's own words, as a judge or people rated them.

A run has the answers written; they are rated afterwards (``scedit judge RUN``), and a report attaches the ratings to
the answers. Until then, and where a rating is unscored, these metrics have no value: never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from evaluation.metrics.base import Answers, row
from evaluation.metrics.events.base import EventMetric, Question, QuestionMetric, WholeEventMetric
from evaluation.metrics.events.probes import open_probe
from evaluation.metrics.events.tendencies import all_in_scope, tendencies_in_scope
from evaluation.metrics.events.written_locality import WrittenLocality
from evaluation.metrics.text_level.base import text_of
from schemas.answers import Answer, ItemScore
from schemas.events.questions import FactQuestion
from schemas.probes import Probe
from schemas.ratings import CONSISTENCY, TENDENCY

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

    def probes_of(self, question: Question) -> list[Probe]:
        """The answer in the model's own words."""
        if isinstance(question, FactQuestion):
            return super().probes_of(question)
        return [open_probe(question, self.choice)]

    def right(self, question: Question, answers: Answers) -> ItemScore:
        """1 for full marks, 0 for fewer; unscored where there is no rating."""
        if isinstance(question, FactQuestion):
            return super().right(question, answers)
        value, why = rating_of(answers.get(self.probes_of(question)[0].id), self.aspect)
        return self.item(question, None if value is None else self.of_rating(value), why)

    def of_rating(self, rating: int) -> float:
        """The value of a rating: 1 for full marks."""
        return float(rating == FULL_MARKS)


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
