from __future__ import annotations

from evaluation.analysis.example_cases import mark_objects, mention_table, pick_examples, which_objects
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.results import cases_by_key, load_run
from tests.support.report import rated_run
from tests.support.report.read_report import METRICS, finished


def test_examples_are_the_extremes_and_show_the_cut(tmp_path):
    finished(tmp_path)
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    examples = pick_examples(run, scores, metrics, "mean")
    means = scores.means("push", "s_es")
    assert means[examples[0]["case"].key] == max(means.values())
    assert min(means.values()) in [means[e["case"].key] for e in examples]
    script = next(q for q in examples[0]["questions"] if q["kind"] == "script")
    assert script["lines"][-1] == "Step 1: Fly to" and script["targets"] == ("Oslo", "Lima")
    for choice in script["choices"]:
        new, old = choice["probabilities"]
        assert choice["won"] == (new > old) and min(new, old) > 0 and max(new, old) < 1
    assert len({e["case"].key for e in examples}) == len(examples)


run = rated_run.run


texts = rated_run.texts


def test_mentions_are_marked_and_counted(texts, run):
    cases = cases_by_key(run)
    table = mention_table(texts.scripts, cases, texts.editors)
    push = next(row for row in table.rows if row[0] == "push")
    assert push[1] == 14 and [round(14 * v.mean) for v in push[2:6]] == [8, 0, 6, 0]
    fact = next(iter(cases.values())).fact
    assert which_objects("Go to Oslo, then Lima's port", fact) == "both"
    assert [[kind for _, kind in line] for line in mark_objects("Lima\nOslo or Lima", fact)] == [
        ["old"],
        ["new", "", "old"],
    ]
    assert "".join(piece for line in mark_objects("a <b>Oslo</b>", fact) for piece, _ in line) == "a <b>Oslo</b>"
