"""What the list of every answer is given: methods and cases once, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.report import write
from evaluation.report.html_page import answer_list
from evaluation.report.sections import make_section
from evaluation.report.write import write_report
from tests.support.report.texts_run import TEXTS, finished


def test_methods_and_cases_are_numbered_as_they_come(tmp_path: Path) -> None:
    run = finished(tmp_path, TEXTS)
    listed = answer_list(make_section(run, None, None))
    assert listed["answer_methods"] == [] or listed["answer_labels"] == {"none": 1, "push": 2}
    assert [c.key for c in listed["answer_cases"]] == [k for k in run.cases if k in listed["answer_numbers"]]
    assert listed["answer_count"] == sum(len(q.answers) for q in listed["answers"])


def test_a_page_that_would_be_too_large_says_how_to_see_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(tmp_path, TEXTS)
    assert "scedit results view" not in write_report(tmp_path).files[0].read_text()
    monkeypatch.setattr(write, "LARGEST", 1000)
    assert "24 texts are too many for this page" in write_report(tmp_path).files[0].read_text()
