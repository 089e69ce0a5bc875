from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.analysis.comparison import Comparison, MethodRow, _families, _lead, compare
from evaluation.metrics.generation import load_metrics
from evaluation.report.narrative import common_cases_note
from evaluation.report.write import write_report
from evaluation.runs.frame import Scores, score_run
from evaluation.runs.results import load_run
from schemas.answers import CaseScores, ItemScore
from tests.support.arithmetic import make_cases
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


def _with_means(by_label: dict[str, dict[str, float | None]], name: str) -> Scores:
    def scores(case: str, value: float | None) -> CaseScores:
        return CaseScores(case=case, metric=name, items=(ItemScore(probe="p", item="p", value=value),))

    return Scores({label: {name: {k: scores(k, v) for k, v in row.items()}} for label, row in by_label.items()})


def test_methods_are_ordered_over_the_same_cases_only(tmp_path):
    """ "a" lost the two hard cases (unscored), so that its own mean is higher; on what both have, "b" is better."""
    (metric,) = load_metrics(["s_es"])
    easy = {"a": {"1": 0.8, "2": 0.8, "3": None, "4": None}, "b": {"1": 1.0, "2": 0.9, "3": 0.1, "4": 0.2}}
    scores = _with_means(easy, "s_es")
    rows = [_method_row(label, scores, metric) for label in "ab"]
    assert rows[0].summaries["s_es"].mean > rows[1].summaries["s_es"].mean
    lead = _lead(metric, rows, list("1234"), scores, ())
    assert (lead.first, lead.second, lead.best, lead.common) == ("b", "a", None, 2)
    note = common_cases_note(Comparison("all", 4, tuple(rows), {"s_es": lead}), [metric])
    assert note is not None and "over the 2 cases" in note
    overall = _with_means({"a": easy["b"], "b": {k: 0.5 for k in "1234"}}, "s_es")
    assert (
        _lead(metric, [_method_row(label, overall, metric) for label in "ab"], list("1234"), overall, ()).common is None
    )
    difference = _with_means({"a": {"1": 1.0, "2": None}, "b": {"1": None, "2": 0.5}}, "s_es")
    assert _lead(metric, [_method_row(label, difference, metric) for label in "ab"], list("12"), difference, ()) is None


def _method_row(label, scores, metric):
    value = list(scores.by_editor[label][metric.name].values())
    summary = {metric.name: metric.summarise(value)}
    return MethodRow(label, "ft", {}, False, summary, {}, len(value), 0, 0, None, None, None, ())


@pytest.mark.parametrize("name", ["em", "ppl"])
def test_a_difference_of_pooled_questions_has_one_interval(name: str) -> None:
    """A ratio of perplexities was [0.62, 1.11] in one table and [0.73, 1.11] in the next."""
    (metric,) = load_metrics([name])
    random, keys = np.random.default_rng(5), [f"c{n}" for n in range(9)]

    def drawn(key: str) -> CaseScores:
        values = random.integers(0, 2, size=1 + int(key[1:]) % 3).astype(float)
        items = tuple(ItemScore(probe=f"{key}/{n}", item=key, value=v, weight=n + 1) for n, v in enumerate(values))
        return CaseScores(case=key, metric=name, items=items)

    scores = Scores({label: {name: {key: drawn(key) for key in keys}} for label in "ab"})
    rows = [_method_row(label, scores, metric) for label in "ab"]
    ((test,),) = (family.pairs for family in _families(metric, rows, keys, scores, None))
    gap = scores.difference("a", "b", metric, keys)
    assert (test.gap.mean, test.gap.low, test.gap.high) == pytest.approx((gap.mean, gap.low, gap.high))
    assert test.on_scale == (name == "em")


@pytest.mark.usefixtures("no_pictures")
def test_normalisation_is_chosen_without_a_new_run(tmp_path):
    finished(tmp_path)
    one = write_report([tmp_path])
    two = write_report([tmp_path], out=tmp_path / "sum", normalisation="sum")
    assert "log-probability of the whole target" in two.files[0].read_text()
    bleed = [f["mean"] for w in (one, two) for f in w.figures if f["metric"] == "s_bo" and f["label"] == "push"]
    assert len(bleed) == 6 and bleed[0] > bleed[3] > 0, "all, counterfactual, temporal; twice"


def test_means_are_not_computed_anew_for_every_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of 20 methods and 400 cases took minutes: the means of a method were computed once a case."""
    plain, calls = Scores.means, []
    monkeypatch.setattr(Scores, "means", lambda self, *args: (calls.append(args), plain(self, *args))[1])
    counts = []
    for n in (3, 9):
        run = load_run(finished(tmp_path / str(n), split=make_cases(n, 0)))
        metrics = load_metrics(["es", "s_es"])
        scores = score_run(run, metrics, "mean")
        calls.clear()
        compare(run, scores, metrics, tests=True)
        counts.append(len(calls))
    assert counts[0] == counts[1]
