from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from curation.stats.bootstrap import Resampling
from curation.stats.intervals import BY_CASE, NO_SPREAD, Interval, mean_interval
from evaluation.analysis.comparison import Comparison, MethodRow, compare
from evaluation.analysis.correlations import correlate
from evaluation.analysis.pairwise_tests import NO_SCALE, comparison_families
from evaluation.metrics.base import Summary
from evaluation.metrics.generation import load_metrics
from evaluation.report.csv_tables import by_case, results_csv
from evaluation.report.formatting import (
    cell_text,
    console_table,
    group_title,
    mean_with_interval,
    memory,
    p_value,
    percent,
    seconds,
)
from evaluation.report.further_tables import decided_table
from evaluation.report.html_page import _glue
from evaluation.report.latex import HEAD, TALLEST, WIDEST, escape, figure, token_table
from evaluation.report.markdown import correlation_table, gains_table, markdown_table, results_table
from evaluation.report.write import write_report
from evaluation.runs.frame import Scores, score_run
from evaluation.runs.results import load_run
from schemas.answers import CaseScores, ItemScore
from tests.support.ratings import rated_store
from tests.support.report import two_runs
from tests.support.report.read_report import finished
from tests.support.report.two_runs import METRICS

pytestmark = pytest.mark.usefixtures("no_pictures")

NAN = float("nan")


MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (percent(-0.5), f"{MINUS}50.0"),
        (percent(-0.00001), "0.0"),
        (percent(0.00001, signed=True), "0.0"),
        (percent(-0.004, signed=True), f"{MINUS}0.4"),
        (percent(0.0, signed=True), "0.0"),
        (percent(1.0), "100.0"),
        (percent(NAN), "nan"),
        (mean_with_interval(Interval(0.009, 0.0004, 5)), "0.90 ± 0.04"),
        (mean_with_interval(Interval(0.01, 0.0004, 5)), "1.0 ± 0.0"),
        (mean_with_interval(Interval(-0.002, None, 1), signed=True), f"{MINUS}0.20 [n = 1: too few]"),
        (mean_with_interval(Interval(0.0, 0.0, 9)), "0.0 [all agree]"),
        (mean_with_interval(Interval(1.0, 0.0, 6, (0.541, 1.0), BY_CASE)), "100.0 [54.1, 100.0]"),
        (mean_with_interval(Interval(0.1, 0.9, 6, (-0.02, 0.4), BY_CASE), signed=True), f"+10.0 [{MINUS}2.0, +40.0]"),
        (mean_with_interval(Interval(0.004, 0.9, 6, (0.0, 0.02), BY_CASE)), "0.40 [0.00, 2.00]"),
        (mean_with_interval(Interval(3.0, 0.0, 6, None, NO_SPREAD)), "300.0 [all agree]"),
        (p_value(0.0009999), "< 0.001"),
        (p_value(0.001), "0.001"),
        (p_value(0.0), "< 0.001"),
        (p_value(0.9999), "1"),
        (p_value(0.5), "0.5"),
        (seconds(9.999), "10.00"),
        (seconds(10.0), "10.0"),
        (seconds(0.0), "0.00"),
        (memory(2**30 - 1), "1024 MiB"),
        (memory(2**30), "1.00 GiB"),
        (memory(0), "0 MiB"),
    ],
)
def test_figures(text: str, want: str) -> None:
    assert text == want


def test_a_decision_without_a_scale_says_so() -> None:
    values = {m: {f"c{n}": v + n / 100 for n in range(12)} for m, v in (("a", 0.9), ("b", 0.1))}
    told = [decided_table(comparison_families("GE", values, baseline=None, scale=s)) for s in (None, (0, 2))]
    assert [table.caption for table in told] == [NO_SCALE.format("GE"), ""]
    assert all(table.title == "Decided: 1 of 1" for table in told)


def csv_of(tables: list[Comparison]) -> str:
    """The file of one part."""
    return results_csv([SimpleNamespace(tables=tables, metrics=ES)])  # type: ignore[list-item]


def row(label: str, mean: float | None, half: float | None, **more: Any) -> MethodRow:
    summary = Summary("es", mean, half, 3, 6, unscored=1, ties=2)
    fields: dict[str, Any] = {
        "label": label, "editor": "push", "params": {}, "baseline": False, "summaries": {"es": summary},
        "gain": {"es": Interval(0.25, 0.05, 3)}, "finished": 3, "failed": 1, "pending": 2, "seconds_edit": 1.5,
        "seconds_score": None, "peak_bytes": 2**30, "blow_ups": ("a", "b"),
    }  # fmt: skip
    return MethodRow(**{**fields, **more})


ES = load_metrics(["es"])


def table(*rows: MethodRow, group: str = "all") -> Comparison:
    return Comparison(group, 6, rows, {})


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_keeps_fractions_and_leaves_empty_what_there_is_not() -> None:
    nothing = row("none", None, None, gain={"es": Interval(None, None, 0)})
    one, none = lines(csv_of([table(row('a, "b"', 1 / 3, 0.1), nothing)]))
    assert float(one["mean"]) == 1 / 3 and one["label"] == 'a, "b"' and one["metric"] == "es"
    assert (one["cases"], one["items"], one["unscored"], one["ties"], one["blow_ups"]) == ("3", "6", "1", "2", "2")
    assert (one["cases_finished"], one["cases_failed"], one["cases_pending"]) == ("3", "1", "2")
    assert (one["seconds_edit"], one["seconds_score"], one["gain"]) == ("1.5", "", "0.25")
    assert none["mean"] == none["half_width_95"] == none["gain"] == ""
    assert lines(csv_of([])) == [] and csv_of([]).startswith("group,editor,label,metric,mean,")


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@x", "\tx", " =cmd|' /C calc'!A0"])
def test_a_label_is_no_formula(label: str) -> None:
    (line,) = lines(csv_of([table(row(label, 0.5, 0.1))]))
    assert line["label"] == f"'{label}" and line["mean"] == "0.5"


def test_markdown_escapes_labels_and_shows_gains_of_methods_only() -> None:
    rows = (row("none", 0.5, None, baseline=True), row("a|b", 0.75, 0.1))
    head, rule, none, method = markdown_table(results_table(table(*rows), ES)).splitlines()
    assert head.count("|") == rule.count("|") == none.count("|") and "ES ↑ (n = 3: too few)" in head
    assert none == "| none | 50.0 | 1.50 | – | 1.00 GiB | 1 |"
    assert method.startswith(r"| a\|b | 75.0 ± 10.0 |")
    assert markdown_table(gains_table(table(*rows), ES)).splitlines()[2:] == [r"| a\|b | +25.0 ± 5.0 |"]


def test_columns_of_the_console_never_touch() -> None:
    """``0.0 [0.0, 70.8]95.98 [1.34, 6,883.64]`` stood there."""
    wide = Interval(95.98, None, 9, (1.34, 6883.64), unit="perplexity")
    summaries = {"em": Summary("em", 0.0, 0.0, 9, 9, ends=(0.0, 0.708)), "ppl": Summary("ppl", *wide[:3], 9)}
    summaries["ppl"] = summaries["ppl"]._replace(ends=wide.ends, unit=wide.unit)
    one = row("a method with a long name", 0.0, None, summaries=summaries)
    head, sizes, line = console_table(table(one), load_metrics(["em", "ppl"]))
    assert line.split("  ")[0] == one.label and "0.0 [0.0, 70.8]  95.98 [1.34, 6,883.64]" in line
    assert head.split() == ["EM", "↑", "PPL", "↓", "s/edit"] and sizes.count("n = 9") == 2
    assert head.index("PPL ↓") + len("PPL ↓") == line.index("6,883.64]") + len("6,883.64]"), "aligned to the right"


def test_group_titles() -> None:
    assert group_title(Comparison("counterfactual", 1, (), {})) == "Counterfactual changes (1)"
    assert group_title(Comparison("merger", 2, (), {}, "event")) == "Events: merger (2)"
    assert group_title(Comparison("mulfe", 3, (), {}, "document")) == "Documents: mulfe (3)"
    assert group_title(Comparison("all", 4, (), {}, "document")) == "All cases (4)"


def test_by_case_counts_what_has_no_value() -> None:
    def case(key: str, *values: float | None) -> CaseScores:
        items = tuple(ItemScore(probe=str(n), item=str(n), value=v) for n, v in enumerate(values))
        return CaseScores(case=key, metric="es", items=items)

    scores = {c.case: c for c in (case("c1", 1.0, None, 0.0), case("c2", None), case("c3"))}
    result = by_case(Scores({"push": {"es": scores}}))
    assert [(x["case"], x["mean"], x["scored"], x["unscored"]) for x in result] == [
        ("c1", 0.5, 2, 1),
        ("c2", None, 0, 1),
    ]


ENDS = (("mean", "low_95", "high_95"), ("gain", "gain_low_95", "gain_high_95"))


OBEYED = {"\N{RIGHT-TO-LEFT OVERRIDE}", "\x1b", "\N{ZERO WIDTH SPACE}"}


def test_page_csv_json_and_markdown_agree(tmp_path):
    files = write_report([finished(tmp_path)])
    html, table, markdown, stored = (path.read_text() for path in files.files[:4])
    rows, data = list(csv.DictReader(io.StringIO(table))), json.loads(stored)
    names = ["report.html", "results.csv", "results.md", "results.json", "results.tex", "comparisons.csv"]
    assert [p.name for p in files.files] == [*names, "correlations.csv"]
    assert len(rows) == len(data["parts"][0]["figures"]) == len(files.figures) == 3 * 2 * 6
    for row, one in zip(rows, data["parts"][0]["figures"], strict=True):
        assert (row["label"], row["metric"], row["group"]) == (one["label"], one["metric"], one["group"])
        if one["mean"] is not None:
            assert float(row["mean"]) == one["mean"]
            intervals = [Interval(one[m], None, 9, (one[a], one[b])) for m, a, b in ENDS if one[a] is not None]
            texts = [cell_text(value, head) for value, head in zip(intervals, ("", "Δ"), strict=False)]
            assert all(_glue(text) in html and text in markdown for cell in texts for text in cell)
        lost = row["metric"] == "s_bo" and one["mean"] is not None
        assert (row["share_of_possible"] != "") == lost, "of S-BO the share of the probability before that was lost"
    assert data["parts"][0]["interval"].startswith("mean of case means")
    assert {c["label"] for c in data["parts"][0]["cases"]} == {"none", "push"}


def test_a_pair_without_a_p_is_not_decided() -> None:
    """Two metrics that agree in every resample: rho has no spread, so no test was made."""
    same = {m: {f"c{k}": float(k + 10 * n) for k in range(9)} for n, m in enumerate(("a", "b"))}
    view = correlate({"X": same, "Y": same}, "pooled", resampling=Resampling(99))
    assert view.pairs[0].correlation.p is None and not view.pairs[0].decided
    assert correlation_table(view).rows == ()


def test_tables_of_ratings_say_that_they_are_integers_and_do_not_make_agreement_certain(tmp_path):
    """All sevens stood as 7.00 \u00b1 0.00 a script, and only the page said that ratings are integers."""
    out = finished(tmp_path / "run")
    rated_store(out / "s.duckdb", load_run(out), ("person:ann",), lambda *_: 7)
    files = {p.name: p.read_text() for p in write_report([out], store=out / "s.duckdb").files}
    assert "7.00 [all agree]" in files["results.md"] and "Integer ratings" in files["results.md"]
    for name in ("report.html", "results.md"):
        assert "7.00" in files[name] and "[all agree]" in files[name] and "± 0.00" not in files[name]
    assert "integer ratings" in files["results.tex"]


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


two = two_runs.two
metrics = load_metrics(METRICS)


@pytest.fixture(scope="module")
def tables(two):
    run = load_run(two)
    return compare(run, score_run(run, metrics, "mean"), metrics, tests=True)


def test_latex_marks_the_best_and_escapes(tables):
    text = token_table(tables, metrics[:WIDEST], about=escape("a_b & 100%"))
    rows = {line.split(" & ")[0]: line for line in text.splitlines() if line.endswith(r"\\")}
    assert r"a\_b \& 100\%" in text and text.count("{") == text.count("}")
    assert r"\textbf" not in text, "six cases decide nothing"
    decided = tables[0]._replace(leads={"s_es": tables[0].leads["s_es"]._replace(first="push", decided=True)})
    mean = next(r for r in decided.rows if r.label == "push").summaries["s_es"].mean
    text = token_table([decided], metrics[:WIDEST], about="m")
    assert text.count(r"\textbf") == 1 and rf"\textbf{{{100 * mean:.1f}}}" in text
    assert all(line.count("&") == WIDEST for name, line in rows.items() if name in ("push", "weak", "none"))
    assert figure(mean_interval([0.2]), best=True) == r"\textbf{20.0}"
    assert r"\pm" not in rows["push"], "low and high, not the published half width"


def test_latex_of_many_metrics_is_several_tables(tables):
    many = [m for m in metrics for _ in range(2)]
    assert len(many) > WIDEST
    text = token_table(tables, many, about="m")
    assert re.findall(r"\\label\{(.*?)\}", text) == ["tab:token", "tab:token-2", "tab:token-3"]
    assert "of m, part 2 of 3:" in text
    heads = [line for line in text.splitlines() if line.startswith("Method")]
    assert [line.count("&") for line in heads] == [4, 4, 4] and text.count(r"\begin{table}") == 3
    assert "part" not in token_table(tables, metrics[:WIDEST], about="m")


def test_latex_of_many_methods_is_several_tables(tables):
    tall = tables[0]._replace(rows=tables[0].rows * TALLEST)
    text = token_table([tall, tall], metrics[:WIDEST], about="m")
    assert re.findall(r"\\label\{(.*?)\}", text) == ["tab:token", "tab:token-2"]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
def test_the_tables_compile_and_fit_the_page(tables, tmp_path):
    name = "fine_tuning_of_one_layer_with_learning_rate_1e-3_and_early_stopping"
    tables = [t._replace(rows=(*t.rows, t.rows[-1]._replace(label=name))) for t in tables]
    body = HEAD + token_table(tables, metrics, about=escape('a_b & "100%" <x> ~ ^ \\'))
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs}"
    text = rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "t.tex").write_text(text)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Overfull" not in done.stdout, done.stdout[-2000:]
