from __future__ import annotations

from evaluation.report.write import write_report
from tests.evaluation.report.test_write import finished, read
from tests.support.arithmetic import make_cases
from tests.support.report.two_runs import TWO


def test_the_summary_says_what_holm_says(tmp_path):
    out = finished(tmp_path, editors=TWO, split=make_cases(40, 0))
    _, reader = read(write_report([out]).files[0])
    text = " ".join("".join(reader.text).split())
    assert "Highest S-ES: push" in text and "after Holm" in text
