"""Orders of methods over conditions: ranks and taus against a slow reference, ties, and who does not take part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from evaluation.analysis.comparison import merge_runs
from evaluation.analysis.method_order import MethodOrder, analyse, kendall_taus, method_orders, split_half
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run, load_run
from schemas.answers import CaseScores, ItemScore
from schemas.core.errors import UserError
from tests.support.arithmetic import make_cases
from tests.support.report import read_report
from tests.support.report.texts_run import finished

PUSHES = [{"name": "push", "label": f"push{n}", "params": {"strength": float(n)}} for n in (1, 3, 9)]


def orders(run: Run, names: list[str]) -> list[MethodOrder]:
    metrics = load_metrics(names)
    return method_orders(run, score_run(run, metrics, "mean"), metrics)


def test_taus_are_those_of_scipy() -> None:
    generator = np.random.default_rng(3)
    first, second = (generator.integers(0, 4, size=(60, 5)) / 4 for _ in range(2))
    slow = [kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)]
    assert kendall_taus(first, second) == pytest.approx(slow, nan_ok=True)


def test_the_order_by_hand(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "s_es", "ns", "s_ns"], editors=["none", *PUSHES, "boost"], split=make_cases(8, 2))
    efficacy, locality = orders(run, ["s_es", "es", "ns", "s_ns"])
    assert (efficacy.subject, efficacy.cases) == ("efficacy", 10) and locality.subject == "locality"
    assert [c["title"] for c in efficacy.conditions] == ["ES", "S-ES"], "in the order of the list, not of the run"
    assert set(efficacy.methods) == {"push1", "push3", "push9"}, "control methods are no competitors"
    first, second = efficacy.conditions
    assert first["tau"] is None and first["same_best"] is None, "with itself it agrees by definition"
    assert second["tau"] is not None and second["same_best"] is not None
    assert first["ranks"]["push9"] < first["ranks"]["push1"]
    assert locality.conditions[0]["ranks"]["push1"] <= locality.conditions[0]["ranks"]["push9"]


def test_a_condition_that_does_not_order_has_no_tau(tmp_path: Path) -> None:
    twins = [{"name": "push", "label": f"twin{n}", "params": {}} for n in range(3)]
    (order,) = orders(finished(tmp_path, ["es", "ps"], editors=["none", *twins]), ["es", "ps"])
    assert all(c["tau"] is None and c["ends"] is None for c in order.conditions)
    assert set(order.conditions[0]["ranks"].values()) == {2.0}


@pytest.mark.parametrize(
    ("names", "more"),
    [
        pytest.param(["es"], {"editors": ["none", *PUSHES]}, id="one condition"),
        pytest.param(["es", "ps"], {"editors": ["none", *PUSHES[:2]]}, id="two methods"),
        pytest.param(["es", "ps"], {"editors": ["none", *PUSHES], "limit": 4}, id="four cases"),
    ],
)
def test_too_little_to_order(tmp_path: Path, names: list[str], more: dict[str, Any]) -> None:
    assert orders(finished(tmp_path, names, **more), names) == []


def test_sizes_are_conditions_of_the_same_methods(tmp_path: Path) -> None:
    regimes: list[Any] = ["single", {"name": "batch", "size": 2}]
    runs = [
        finished(tmp_path / str(n), ["es", "ps"], editors=["none", *PUSHES], regime=r) for n, r in enumerate(regimes)
    ]
    (run,) = merge_runs(runs)
    (order,) = orders(run, ["es", "ps"])
    assert len(order.conditions) == 4 and set(order.methods) == {"push1", "push3", "push9"}
    assert len({c["title"] for c in order.conditions}) == 4


THREE = [{"name": "push", "label": f"push {n}", "params": {"strength": 0.2 * n}} for n in (1, 2, 3)]
# items of a case (two prompts) by method: the first method passes all, the last almost none
OUTCOMES = {
    "push 1": [(0, 0), (0, 0), (0, 0), (0, 1)],
    "push 2": [(0, 1), (0, 1), (0, 1), (0, 0)],
    "push 3": [(1, 1), (1, 1), (1, 1), (1, 1)],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(read_report.finished(tmp_path_factory.mktemp("three"), editors=THREE, split=make_cases(4, 0)))


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
    assert list(figures["means"].items()) == [("push 3", 1.0), ("push 2", 0.375), ("push 1", 0.125)]
    # first prompts: only "push 3" passes (4 items); second prompts: push 2 and 3 pass three, push 1 and 3 the fourth
    items = figures["items"]
    assert figures["cases"] == 4 and (items["items"], items["passed_by"]) == (8, [0, 4, 4, 0])
    first = [0.0, 0.0, 1.0]  # passes of the first prompt of the fourth case, beside the mean of the first three
    rest = [0.0, 0.5, 1.0]
    wanted = [np.corrcoef(first, rest)[0, 1], np.corrcoef([1.0, 0.0, 1.0], rest)[0, 1]]
    assert items["discrimination"][6:] == pytest.approx(wanted)


def test_items_that_tell_nothing_have_no_correlation(run: Run) -> None:
    figures = analyse(run, *with_outcomes(run, {label: [(1.0, 0.0)] * 4 for label in OUTCOMES}), draws=5)
    assert figures["items"] == {"items": 8, "passed_by": [4, 0, 0, 4], "discrimination": []}
    assert figures["halves"] == {"tau": None, "same_first": 1.0, "reliability": None, "draws": 5}


def test_values_between_failed_and_passed_have_no_items(run: Run) -> None:
    graded = {label: [(value, 0.25)] * 4 for label, value in zip(OUTCOMES, (0.2, 0.3, 0.9), strict=True)}
    assert analyse(run, *with_outcomes(run, graded), draws=5)["items"] is None


def test_relations_are_ordered_by_what_they_move(run: Run) -> None:
    several = of_relations(run, ["a", "a", "a", "b"])
    first, second = analyse(several, *with_outcomes(several), draws=5)["relations"]
    # without the three of "a" only the fourth case is left: push 1 rises from .125 to .5, push 2 falls from .375 to 0
    tau = pytest.approx(1 / 3)
    assert first == {"relation": "a", "cases": 3, "spread": 1.0, "shift": 0.375, "method": "push 1", "tau": tau}
    assert second | {"spread": 0} == {
        "relation": "b", "cases": 1, "spread": 0, "shift": -0.125, "method": "push 1", "tau": 1.0,
    }  # fmt: skip
    assert analyse(of_relations(run, ["a"] * 4), *with_outcomes(run), draws=5)["relations"] == []


def test_halves_that_disagree_have_no_reliability() -> None:
    """Three methods on twelve cases had a reliability of -6.01."""
    cycle = np.array([[1.0, 0.0, 0.5], [0.5, 1.0, 0.0], [0.0, 0.5, 1.0]])
    assert split_half(cycle, draws=20)["reliability"] is None


def test_too_few_methods_or_cases_are_refused(run: Run) -> None:
    two = run._replace(editors=run.editors[:3])
    with pytest.raises(
        UserError, match="2 methods with 4 cases in common.*at least 3 methods beside the control methods"
    ):
        analyse(two, *with_outcomes(run), draws=5)
    scores, metric = with_outcomes(run)
    del scores.by_editor["push 1"]["s_es"][run.cases[0]]
    with pytest.raises(UserError, match="3 methods with 3 cases in common"):
        analyse(run, scores, metric, draws=5)
