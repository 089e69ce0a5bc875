from __future__ import annotations

import pytest

from evaluation.analysis.comparison import compare, score_run
from evaluation.report.write import write_report
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from tests.support.report.read_report import finished


def test_gain_is_the_paired_difference(tmp_path):
    finished(tmp_path)
    run, metrics = load_run(tmp_path), load_metrics(["s_es"])
    scores = score_run(run, metrics, "mean")
    row = compare(run, scores, metrics)[0].rows[1]
    now, then = scores.means("push", "s_es"), scores.means("none", "s_es")
    by_hand = [now[k] - then[k] for k in now]
    assert row.gain["s_es"].mean == pytest.approx(sum(by_hand) / len(by_hand))
    assert row.gain["s_es"].n == 11


def test_normalisation_is_chosen_without_a_new_run(tmp_path):
    finished(tmp_path)
    one = write_report([tmp_path])
    two = write_report([tmp_path], out=tmp_path / "sum", normalisation="sum")
    assert "probability of the whole object" in two.files[0].read_text()
    bleed = [f["mean"] for w in (one, two) for f in w.figures if f["metric"] == "s_bo" and f["label"] == "push"]
    assert len(bleed) == 6 and bleed[0] > bleed[3] > 0, "all, counterfactual, temporal; twice"
