from __future__ import annotations

from evaluation.analysis.example_cases import pick_examples
from evaluation.runs.frame import score_run
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from tests.support.report.read_report import METRICS, finished


def test_examples_are_the_extremes_and_show_the_cut(tmp_path):
    finished(tmp_path)
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    examples = pick_examples(run, scores, metrics, "mean")
    means = scores.means("push", "s_es")
    assert means[examples[0].case.key] == max(means.values())
    assert min(means.values()) in [means[e.case.key] for e in examples]
    script = next(q for q in examples[0].questions if q.kind == "script")
    assert script.lines[-1] == "Step 1: Fly to" and script.targets == ("Oslo", "Lima")
    for choice in script.choices:
        assert choice.won == (choice.values[0] > choice.values[1])
        assert all(0 < v < 1 for v in choice.values)
    assert len({e.case.key for e in examples}) == len(examples)
