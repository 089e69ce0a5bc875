from __future__ import annotations

import csv
import io
import json

from curation.stats.bootstrap import Resampling
from evaluation.analysis.correlations import correlate
from evaluation.report.formatting import percent
from evaluation.report.markdown import correlation_table
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from tests.support.ratings import rated_store
from tests.support.report.read_report import finished

OBEYED = {"\N{RIGHT-TO-LEFT OVERRIDE}", "\x1b", "\N{ZERO WIDTH SPACE}"}


def test_csv_json_and_markdown_agree(tmp_path):
    files = write_report([finished(tmp_path)])
    rows = list(csv.DictReader(io.StringIO(files.files[1].read_text())))
    data = json.loads(files.files[3].read_text())
    markdown = files.files[2].read_text()
    assert len(rows) == len(data["parts"][0]["figures"]) == len(files.figures) == 3 * 2 * 6
    for row, figure in zip(rows, data["parts"][0]["figures"], strict=True):
        assert (row["label"], row["metric"], row["group"]) == (figure["label"], figure["metric"], figure["group"])
        if figure["mean"] is not None:
            assert float(row["mean"]) == figure["mean"]
            assert percent(figure["mean"]) in markdown
    assert data["parts"][0]["interval"].startswith("mean of case means")
    assert {c["label"] for c in data["parts"][0]["cases"]} == {"none", "push"}


def test_a_pair_without_a_p_is_not_decided() -> None:
    """Two metrics that agree in every resample: rho has no spread, so no test was made."""
    same = {m: {f"c{k}": float(k + 10 * n) for k in range(9)} for n, m in enumerate(("a", "b"))}
    view = correlate({"X": same, "Y": same}, "pooled", resampling=Resampling(99))
    assert view.pairs[0].correlation.p is None and not view.pairs[0].decided
    assert correlation_table(view).rows == ()


def test_tables_of_ratings_say_which_estimator_and_do_not_make_agreement_certain(tmp_path):
    """All sevens stood as 7.00 \u00b1 0.00 a script, and only the page said that ratings are integers."""
    out = finished(tmp_path / "run")
    rated_store(out / "s.duckdb", load_run(out), ("person:ann",), lambda *_: 7)
    files = {p.name: p.read_text() for p in write_report([out], store=out / "s.duckdb").files}
    assert "7.00 [all agree]" in files["results.md"] and "Integer ratings" in files["results.md"]
    for name in ("report.html", "results.md"):
        assert "7.00" in files[name] and "[all agree]" in files[name] and "± 0.00" not in files[name]
    assert "integer ratings" in files["results.tex"]
    assert {row["estimator"] for row in csv.DictReader(io.StringIO(files["ratings.csv"]))} == {"integer"}


def test_names_of_raters_are_inert_in_every_file_but_json(tmp_path):
    """Only the page wrote them out: Markdown, LaTeX and CSV held them as data."""
    out = finished(tmp_path / "run")
    rated_store(
        out / "s.duckdb", load_run(out), ("judge:a\N{RIGHT-TO-LEFT OVERRIDE}b<script>\x1b[31m\N{ZERO WIDTH SPACE}",)
    )
    for path in write_report([out], store=out / "s.duckdb").files[1:]:
        text = path.read_text()
        if path.suffix in (".md", ".tex", ".csv"):
            assert not OBEYED & set(text), path.name
        if path.suffix in (".md", ".tex") or path.name == "ratings.csv":
            assert "u202e" in text, path.name
        assert path.suffix != ".md" or "<script>" not in text
