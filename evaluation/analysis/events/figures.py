"""Everything that a run on events shows beside its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.comparison import Scores
from evaluation.analysis.events.by_questions import EventsByQuestions, by_questions
from evaluation.analysis.events.locality import LocalityBesidePlacebo, locality_beside_placebo
from evaluation.analysis.events.open_ratings import OpenAnswerFigures, open_answer_figures
from evaluation.analysis.events.routing import Routing, routings
from evaluation.analysis.events.unknown_answers import UnknownAnswers, unknown_answers
from evaluation.metrics.base import Metric
from evaluation.runs.results import Run


class EventAnalysis(NamedTuple):
    """What a run on events shows beside its metrics."""

    routings: tuple[Routing, ...]
    unknown: tuple[UnknownAnswers, ...]
    by_questions: tuple[EventsByQuestions, ...]
    open_answers: tuple[OpenAnswerFigures, ...] = ()
    locality: tuple[LocalityBesidePlacebo, ...] = ()


def event_analysis(run: Run, scores: Scores, metrics: Sequence[Metric]) -> EventAnalysis:
    """The figures of a run."""
    return EventAnalysis(
        tuple(routings(run)),
        tuple(unknown_answers(run)),
        tuple(by_questions(run, scores, metrics)),
        tuple(open_answer_figures(run)),
        tuple(locality_beside_placebo(run, scores, metrics)),
    )
