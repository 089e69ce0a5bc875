"""Reliability, items and relations against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.analysis.method_order import analyse, split_half
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run, load_run
from schemas.answers import CaseScores, ItemScore
from schemas.core.errors import UserError
from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import make_cases

THREE = [{"name": "push", "label": f"push {n}", "params": {"strength": 0.2 * n}} for n in (1, 2, 3)]
# items of a case (two prompts) by method: the first method passes all, the last almost none
OUTCOMES = {
    "push 1": [(0, 0), (0, 0), (0, 0), (0, 1)],
    "push 2": [(0, 1), (0, 1), (0, 1), (0, 0)],
    "push 3": [(1, 1), (1, 1), (1, 1), (1, 1)],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(finished(tmp_path_factory.mktemp("three"), editors=THREE, split=make_cases(4, 0)))


def of_relations(run: Run, names: list[str]) -> Run:
    cases, by_key = [], dict(zip(run.cases, names, strict=True))
    for case in run.split.cases:
        name = by_key[case.key]
        relation = case.fact.relation.model_copy(update={"id": name, "label": name})
        cases.append(case.model_copy(update={"fact": case.fact.model_copy(update={"relation": relation})}))
    return run._replace(split=run.split._replace(all_cases=tuple(cases)))


def with_outcomes(run: Run, outcomes: dict[str, list[tuple[float, ...]]] = OUTCOMES):
    metrics = load_metrics(["s_es"])
    scores = score_run(run, metrics, "mean")
    for label, by_case in outcomes.items():
        for key, values in zip(run.cases, by_case, strict=True):
            items = tuple(ItemScore(probe=f"{key}/{n}", item=f"{key}/{n}", value=v) for n, v in enumerate(values))
            scores.by_editor[label]["s_es"][key] = CaseScores(case=key, metric="s_es", items=items)
    return scores, metrics[0]


def test_means_items_and_order(run: Run) -> None:
    figures = analyse(run, *with_outcomes(run), draws=50)
    assert list(figures.means.items()) == [("push 3", 1.0), ("push 2", 0.375), ("push 1", 0.125)]
    assert figures.cases == 4 and figures.items is not None
    # first prompts: only "push 3" passes (4 items); second prompts: push 2 and 3 pass three, push 1 and 3 the fourth
    assert figures.items.items == 8 and figures.items.passed_by == (0, 4, 4, 0) and figures.items.idle == 0
    first = [0.0, 0.0, 1.0]  # passes of the first prompt of the fourth case, beside the mean of the first three
    rest = [0.0, 0.5, 1.0]
    assert figures.items.discrimination[6] == pytest.approx(float(np.corrcoef(first, rest)[0, 1]))
    assert figures.items.discrimination[7] == pytest.approx(float(np.corrcoef([1.0, 0.0, 1.0], rest)[0, 1]))


def test_items_that_tell_nothing_have_no_correlation(run: Run) -> None:
    equal = {label: [(1.0, 0.0)] * 4 for label in OUTCOMES}
    figures = analyse(run, *with_outcomes(run, equal), draws=5)
    assert figures.items is not None and figures.items.passed_by == (4, 0, 0, 4)
    assert figures.items.idle == 8 and figures.items.discrimination == ()
    assert figures.halves.tau is None and figures.halves.reliability is None and figures.halves.same_first == 1.0


def test_values_between_failed_and_passed_have_no_items(run: Run) -> None:
    graded = {label: [(value, 0.25)] * 4 for label, value in zip(OUTCOMES, (0.2, 0.3, 0.9), strict=True)}
    assert analyse(run, *with_outcomes(run, graded), draws=5).items is None


def test_relations_are_ordered_by_what_they_move(run: Run) -> None:
    several = of_relations(run, ["a", "a", "a", "b"])
    figures = analyse(several, *with_outcomes(several), draws=5)
    first, second = figures.relations
    # without the three of "a" only the fourth case is left: push 1 rises from .125 to .5, push 2 falls from .375 to 0
    assert (first.relation, first.cases, first.shift, first.method) == ("a", 3, 0.375, "push 1")
    assert first.tau == pytest.approx(1 / 3) and first.spread == 1.0
    assert (second.relation, second.cases, second.method) == ("b", 1, "push 1") and second.shift == -0.125
    assert second.tau == 1.0
    assert analyse(of_relations(run, ["a"] * 4), *with_outcomes(run), draws=5).relations == ()


def test_the_plain_way_gives_the_same_halves() -> None:
    generator = np.random.default_rng(4)
    values = generator.random((4, 9))
    figures = split_half(values, draws=30, seed=7)
    repeat, first, r = np.random.default_rng(7), 0, []
    for _ in range(30):
        places = list(repeat.permutation(9))
        halves = [[sum(row[p] for p in half) / len(half) for row in values] for half in (places[:4], places[4:])]
        first += halves[0].index(max(halves[0])) == halves[1].index(max(halves[1]))
        r.append(np.corrcoef(*halves)[0, 1])
    mean = sum(r) / len(r)
    assert figures.same_first == first / 30 and figures.reliability == pytest.approx(2 * mean / (1 + mean))


def test_too_few_methods_or_cases_are_refused(run: Run) -> None:
    two = run._replace(editors=run.editors[:3])
    with pytest.raises(UserError, match="2 methods with 4 cases in common.*at least 3 methods beside the null methods"):
        analyse(two, *with_outcomes(run), draws=5)
    scores, metric = with_outcomes(run)
    del scores.by_editor["push 1"]["s_es"][run.cases[0]]
    with pytest.raises(UserError, match="3 methods with 3 cases in common"):
        analyse(run, scores, metric, draws=5)
