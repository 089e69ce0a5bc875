from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from curation.stats.intervals import mean_interval
from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import load_metrics
from evaluation.report.latex import HEAD, TALLEST, WIDEST, escape, figure, token_table
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from tests.support.report import two_runs
from tests.support.report.two_runs import METRICS

two = two_runs.two


def test_latex_marks_the_best_and_escapes(two):
    run, metrics = load_run(two), load_metrics(METRICS)
    tables = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)
    text = token_table(tables, metrics[:WIDEST], about=escape("a_b & 100%"))
    rows = {line.split(" & ")[0]: line for line in text.splitlines() if line.endswith(r"\\")}
    assert r"a\_b \& 100\%" in text and text.count("{") == text.count("}")
    assert r"\textbf" not in text, "six cases decide nothing"
    decided = tables[0]._replace(leads={"s_es": tables[0].leads["s_es"]._replace(first="push", decided=True)})
    mean = next(r for r in decided.rows if r.label == "push").summaries["s_es"].mean
    text = token_table([decided], metrics[:WIDEST], about="m")
    assert text.count(r"\textbf") == 1 and rf"\textbf{{{100 * mean:.2f}}}" in text
    assert all(line.count("&") == WIDEST for name, line in rows.items() if name in ("push", "weak", "none"))
    assert figure(mean_interval([0.2]), best=True) == r"\textbf{20.00}"
    assert r"\pm" not in rows["push"], "low and high, not the published half width"


def test_latex_of_many_metrics_is_several_tables(two):
    run, metrics = load_run(two), load_metrics(METRICS)
    tables = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)
    many = [m for m in metrics for _ in range(2)]
    assert len(many) > WIDEST
    text = token_table(tables, many, about="m")
    assert re.findall(r"\\label\{(.*?)\}", text) == ["tab:token", "tab:token-2", "tab:token-3"]
    assert "of m, part 2 of 3:" in text
    heads = [line for line in text.splitlines() if line.startswith("Method")]
    assert [line.count("&") for line in heads] == [4, 4, 4] and text.count(r"\begin{table}") == 3
    assert "part" not in token_table(tables, metrics[:WIDEST], about="m")


def test_latex_of_many_methods_is_several_tables(two):
    run, metrics = load_run(two), load_metrics(METRICS)
    tables = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)
    tall = tables[0]._replace(rows=tables[0].rows * TALLEST)
    text = token_table([tall, tall], metrics[:WIDEST], about="m")
    assert re.findall(r"\\label\{(.*?)\}", text) == ["tab:token", "tab:token-2"]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
def test_the_tables_compile_and_fit_the_page(two, tmp_path):
    run, metrics = load_run(two), load_metrics(METRICS)
    tables = compare(run, score_run(run, metrics, "mean"), metrics, tests=True)
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
