"""The answer "unknown": how often it is right where it is given, and given where it is right."""

from __future__ import annotations

from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.metrics.events.probes import fact_probe
from evaluation.metrics.events.reading import says_unknown, short_answer
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import pooled_interval
from evaluation.runs.results import Run, answers_by_probe
from schemas.cases import EventCase


class UnknownAnswers(NamedTuple):
    """One method's "unknown" over all factual questions, in and out of scope.

    Attributes:
        label: The method.
        precision: Of the questions answered so, the share whose answer has become unknown; pooled, by event.
        recall: Of the questions whose answer has become unknown, the share answered so.
        said: Questions answered so.
        wanted: Questions whose answer has become unknown.
        right: Both.
        questions: Factual questions answered.
    """

    label: str
    precision: Interval
    recall: Interval
    said: int
    wanted: int
    right: int
    questions: int


def unknown_answers(run: Run) -> list[UnknownAnswers]:
    """Every method that has answered a factual question."""
    choice = Generation.from_description(run.about).events
    cases = {c.key: c for c in run.split.all_cases if isinstance(c, EventCase)}
    out = []
    for editor in run.editors:
        rows: list[tuple[float, float, float, float]] = []  # of a case: right, said, wanted, answered
        for key, result in editor.results.items():
            answers = answers_by_probe(result.answers) if result.error is None else {}
            seen = [(q.unknown, short_answer(answers.get(fact_probe(q, choice).id))[0]) for q in cases[key].facts]
            unknowns = [(wanted, says_unknown(text, choice)) for wanted, text in seen if text is not None]
            right = sum(wanted and says for wanted, says in unknowns)
            rows.append(
                (right, sum(says for _, says in unknowns), sum(wanted for wanted, _ in unknowns), len(unknowns))
            )
        right, said_unknown, wanted, questions = (
            (int(sum(column)) for column in zip(*rows, strict=True)) if rows else (0,) * 4
        )
        if questions:
            precision = pooled_interval([(r, s) for r, s, _, _ in rows if s])
            recall = pooled_interval([(r, w) for r, _, w, _ in rows if w])
            out.append(UnknownAnswers(editor.label, precision, recall, said_unknown, wanted, right, questions))
    return out
