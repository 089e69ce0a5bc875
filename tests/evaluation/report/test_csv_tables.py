from __future__ import annotations

import csv
import io
import json

from evaluation.report.formatting import percent
from evaluation.report.write import write_report
from tests.support.report.read_report import finished


def test_csv_json_and_markdown_agree(tmp_path):
    written = write_report([finished(tmp_path)])
    rows = list(csv.DictReader(io.StringIO(written.files[1].read_text())))
    data = json.loads(written.files[3].read_text())
    markdown = written.files[2].read_text()
    assert len(rows) == len(data["parts"][0]["figures"]) == len(written.figures) == 3 * 2 * 6
    for row, figure in zip(rows, data["parts"][0]["figures"], strict=True):
        assert (row["label"], row["metric"], row["group"]) == (figure["label"], figure["metric"], figure["group"])
        if figure["mean"] is not None:
            assert float(row["mean"]) == figure["mean"]
            assert percent(figure["mean"]) in markdown
    assert data["parts"][0]["interval"].startswith("mean of case means")
    assert {c["label"] for c in data["parts"][0]["cases"]} == {"none", "push"}
