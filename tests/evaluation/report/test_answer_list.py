"""What the list of every answer is given: methods and cases once, in their order."""

from __future__ import annotations

from pathlib import Path

from evaluation.report.html_page import answer_list
from evaluation.report.sections import make_section
from tests.support.report.texts_run import TEXTS, finished


def test_methods_and_cases_are_numbered_as_they_come(tmp_path: Path) -> None:
    run = finished(tmp_path, TEXTS)
    listed = answer_list(make_section(run, None, None))
    assert listed["answer_methods"] == [] or listed["answer_labels"] == {"none": 1, "push": 2}
    assert [c.key for c in listed["answer_cases"]] == [k for k in run.cases if k in listed["answer_numbers"]]
    assert listed["answer_count"] == sum(len(q.answers) for q in listed["answers"])
