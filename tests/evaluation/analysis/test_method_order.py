"""Orders of methods over conditions: ranks and taus against a slow twin, ties, and who does not take part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from evaluation.analysis.comparison import merge_runs
from evaluation.analysis.method_order import MethodOrder, kendall_taus, method_orders, ranks_of
from evaluation.metrics.generation import load_metrics
from evaluation.runs.frame import score_run
from evaluation.runs.results import Run
from tests.support.arithmetic import make_cases
from tests.support.report.texts_run import finished

PUSHES = [{"name": "push", "label": f"push{n}", "params": {"strength": float(n)}} for n in (1, 3, 9)]


def orders(run: Run, names: list[str]) -> list[MethodOrder]:
    metrics = load_metrics(names)
    return method_orders(run, score_run(run, metrics, "mean"), metrics, draws=50)


def test_taus_and_ranks_are_those_of_scipy() -> None:
    generator = np.random.default_rng(3)
    first, second = (generator.integers(0, 4, size=(60, 5)) / 4 for _ in range(2))
    slow = [kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)]
    assert kendall_taus(first, second) == pytest.approx(slow, nan_ok=True)
    for row in first:
        assert ranks_of(row) == pytest.approx((len(row) + 1 - rankdata(row)).tolist())


def test_the_order_by_hand(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "s_es", "ns", "s_ns"], editors=["none", *PUSHES, "boost"], split=make_cases(8, 2))
    efficacy, locality = orders(run, ["s_es", "es", "ns", "s_ns"])
    assert (efficacy.subject, efficacy.cases) == ("efficacy", 10) and locality.subject == "locality"
    assert [c.title for c in efficacy.conditions] == ["ES", "S-ES"], "in the order of the list, not of the run"
    assert set(efficacy.methods) == {"push1", "push3", "push9"}, "null methods are no competitors"
    first = efficacy.conditions[0]
    assert first.tau == 1.0 and first.same_best == 1.0 and first.ranks["push9"] < first.ranks["push1"]
    assert locality.conditions[0].ranks["push1"] <= locality.conditions[0].ranks["push9"]


def test_a_condition_that_does_not_order_has_no_tau(tmp_path: Path) -> None:
    twins = [{"name": "push", "label": f"twin{n}", "params": {}} for n in range(3)]
    (order,) = orders(finished(tmp_path, ["es", "ps"], editors=["none", *twins]), ["es", "ps"])
    assert {c.tau for c in order.conditions} == {None} == {c.ends for c in order.conditions}
    assert set(order.conditions[0].ranks.values()) == {2.0}


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
    assert len({c.title for c in order.conditions}) == 4
