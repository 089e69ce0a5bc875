"""The first screen says what was edited and three findings with their intervals."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.written.all_answers import all_answers
from evaluation.report.first_screen import first_screen
from evaluation.report.sections import make_sections
from evaluation.runs.results import load_run
from tests.evaluation.analysis.written.test_all_answers import _Odd
from tests.support.report.read_report import finished
from tests.support.report.texts_run import TEXTS
from tests.support.report.texts_run import finished as with_texts


def test_what_was_edited_and_three_findings(tmp_path: Path) -> None:
    run = with_texts(tmp_path, ["s_es", "s_ns", *TEXTS], lm=_Odd())
    ((part,), _) = make_sections([run], None, None)
    answers = all_answers(run, None)
    found = first_screen(part, answers)
    assert "facts" in found.edited and "with push" in found.edited and "none" in found.edited
    assert "→" in found.example
    assert [f.title for f in found.findings] == [
        "Did the edit take?", "What else moved?", "What does the edited model write?",
    ]  # fmt: skip
    assert all("[" in f.text and "(push)" in f.text for f in found.findings), "each with an interval"
    count = sum(len(q.answers) for q in answers)
    assert f"{count} of {count} scripts (100 %) were cut off at 256 tokens" in found.findings[2].text


def test_a_run_without_an_edit_has_no_finding(tmp_path: Path) -> None:
    ((part,), _) = make_sections([load_run(finished(tmp_path, editors=["none"]))], None, None)
    found = first_screen(part, [])
    assert found.findings == () and "no method" in found.edited
