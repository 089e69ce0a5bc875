"""Dots and intervals: inside the picture, one style a method, long names cut, nothing drawn without a value."""

from __future__ import annotations

import pytest

from evaluation.analysis.comparison import compare, score_run
from evaluation.report.interval_plot import interval_plots, mark_style, style_of
from evaluation.report.write import write_report
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from tests.support.arithmetic import make_cases
from tests.support.report.read_report import METRICS, finished


@pytest.mark.parametrize("count", [2, 5, 20])
def test_every_method_has_a_row_within_the_picture(tmp_path, count):
    name = "a method whose name is much too long for a picture"
    editors = [{"name": "push", "label": f"{name} {n}", "params": {"strength": n / 4}} for n in range(count)]
    finished(tmp_path, editors=editors, split=make_cases(6, 5))
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    plots = interval_plots(compare(run, score_run(run, metrics, "mean"), metrics)[0], metrics)
    assert [p.title for p in plots][:2] == ["ES ↑, %", "PS ↑, %"] and plots[-1].title == "S-BO ↓, %"
    assert [len(p.marks) for p in plots] == [count + 1] * (len(plots) - 1) + [count], "no edit has no S-BO"
    for plot in plots:
        rows = [m.y for m in plot.marks]
        assert rows == sorted(rows) and plot.top < rows[0] and rows[-1] < plot.bottom < plot.height
        for mark in plot.marks:
            assert len(mark.name) <= 28 and plot.left <= mark.x <= plot.width - 24
            assert mark.bar is None or plot.left <= mark.bar[0] <= mark.x <= mark.bar[1] <= plot.width - 24
        assert (plot.reference is None) == (plot.title == "S-BO ↓, %")
    styles = [{m.description.split(":")[0]: (m.series, m.shape) for m in p.marks} for p in plots]
    assert all(styles[0][label] == style for drawn in styles for label, style in drawn.items())


def test_a_style_belongs_to_a_method_and_not_to_its_place_in_a_picture():
    assert style_of("ft", ["none", "rome", "ft"], 0) == mark_style(2) and style_of("x", ["none"], 3) == mark_style(3)
    assert len({mark_style(n) for n in range(36)}) == 36


def test_the_page_has_a_picture_of_every_metric(tmp_path):
    html = write_report([finished(tmp_path, split=make_cases(0, 5))]).files[0].read_text()
    assert "S-BO ↓, %. push:" in html and "NS ↑, %. " not in html, "no neighbours, no picture"
    assert "Locality was not measured" not in html, "bleed-over was"
