"""What the report's list of every answer reads of one part."""

from __future__ import annotations

from typing import Any

from evaluation.analysis.written.all_answers import all_answers
from evaluation.report.sections import ReportSection
from schemas.cases import FACT


def answer_list(part: ReportSection) -> dict[str, Any]:
    """Every answer with what the filter needs: methods and cases in order, and their numbers."""
    questions = (
        all_answers(part.run, None if part.text is None else part.text.texts) if part.run.split.type == FACT else []
    )
    labels = list(dict.fromkeys(a.label for q in questions for a in q.answers))
    cases = {q.case.key: q.case for q in questions}
    return {
        "answers": questions,
        "answer_count": sum(len(q.answers) for q in questions),
        "answer_methods": labels,
        "answer_labels": {label: n for n, label in enumerate(labels, 1)},
        "answer_cases": list(cases.values()),
        "answer_numbers": {key: n for n, key in enumerate(cases, 1)},
    }
