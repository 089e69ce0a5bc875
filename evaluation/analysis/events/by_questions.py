"""Whole events by the number of their questions: an event with eight is lost more easily than one with one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.bounded import bounded_interval
from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Scores
from evaluation.metrics.base import Metric
from evaluation.metrics.events.base import WholeEventMetric
from evaluation.runs.results import Run
from schemas.cases import EventCase


class EventsByQuestions(NamedTuple):
    """One metric over events with so many questions: events, and the interval of every method by label."""

    metric: str
    questions: int
    events: int
    values: dict[str, Interval]


def by_questions(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[EventsByQuestions]:
    """Every metric over whole events, by the number of questions that it asks of one."""
    out = []
    for metric in metrics:
        if not isinstance(metric, WholeEventMetric):
            continue
        sizes = {c.key: len(metric.questions(c)) for c in run.split.all_cases if isinstance(c, EventCase)}
        by_size: dict[int, dict[str, list[float]]] = defaultdict(lambda: {e.label: [] for e in run.editors})
        events: dict[int, set[str]] = defaultdict(set)
        for editor in run.editors:
            for key, value in scores.means(editor.label, metric.name).items():
                by_size[sizes[key]][editor.label].append(value)
                events[sizes[key]].add(key)
        for size in sorted(by_size):
            values = {label: bounded_interval(values) for label, values in by_size[size].items()}
            out.append(EventsByQuestions(metric.title, size, len(events[size]), values))
    return out
