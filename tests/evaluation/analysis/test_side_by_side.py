from __future__ import annotations

import csv
import io

from evaluation.report.write import write_report
from tests.support.arithmetic import ArithmeticLM
from tests.support.report.read_report import finished, read


def test_runs_on_other_models_stand_apart(tmp_path):
    finished(tmp_path / "a")
    finished(tmp_path / "b", lm=ArithmeticLM(name="other", revision="2"))
    files = write_report([tmp_path / "a", tmp_path / "b"], out=tmp_path / "c")
    html, reader = read(files.files[0])
    assert "Part 1: arithmetic" in html and "Part 2: other" in html
    assert reader.stack == []
    rows = list(csv.DictReader(io.StringIO(files.files[1].read_text())))
    assert {r["part"] for r in rows} == {"1", "2"}
