"""Two runs side by side: the same cases and methods, orders by hand, and a run that lacks a case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.report.sections import make_section
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError
from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import make_cases

benchmark = pytest.importorskip("benchmarks.open.two_models", reason="benchmarks are not shipped")


def _run(folder: Path, strengths: tuple[float, ...], cases: int = 6) -> Run:
    folder.mkdir()
    methods = [{"name": "push", "label": f"push {n}", "params": {"strength": s}} for n, s in enumerate(strengths, 1)]
    return load_run(Path(finished(folder, editors=methods, split=make_cases(cases, 0))))


def test_orders_of_two_models_are_compared_over_the_same_cases(tmp_path: Path) -> None:
    first, second = _run(tmp_path / "a", (0.1, 0.8, 3.0)), _run(tmp_path / "b", (3.0, 0.8, 0.1), cases=9)
    few = benchmark.restricted(second, first)
    assert few.cases == first.cases and [e.label for e in few.editors] == [e.label for e in first.editors]
    one, two = make_section(first, None, None), make_section(few, None, None)
    (metric,) = [m for m in one.metrics if m.name == "s_es"]
    same, other = benchmark.order_in_both(one, one, metric), benchmark.order_in_both(one, two, metric)
    assert same.first == same.second and same.tau == 1.0 and same.cases == 6
    means = {e.label: one.scores.means(e.label, "s_es") for e in first.editors[1:]}
    by_hand = sorted(means, key=lambda label: -sum(means[label].values()))
    assert len(set(map(tuple, ([*v.values()] for v in means.values())))) == 3, "the methods differ"
    assert other.first == tuple((label,) for label in by_hand) and other.second == other.first[::-1]
    assert other.tau == -1.0
    assert other.ends[0] <= -1.0 + 1e-9


def test_equal_methods_stand_together() -> None:
    order = benchmark._from_best(["a", "b", "c"], np.array([0.5, 1.0, 0.5]))
    assert order == (("b",), ("a", "c")) and benchmark._order_text(order) == "`b` > `a` = `c`"


def test_the_tables_name_both_models_and_every_pair(tmp_path: Path) -> None:
    first, second = _run(tmp_path / "a", (0.1, 0.8, 3.0)), _run(tmp_path / "b", (3.0, 0.8, 0.1))
    text = "\n\n".join(benchmark.parts(first, benchmark.restricted(second, first)))
    assert text.count("| S-ES | `push 1` - `push 2` |") == 1 and "hours of edits" in text
    page = tmp_path / "page.md"
    page.write_text(f"a {benchmark.MARKS[0]} old {benchmark.MARKS[1]} b")
    assert benchmark.main([str(first.folder), str(second.folder), "--page", str(page)]) == 0
    assert "old" not in page.read_text() and "tau-b" in page.read_text()


def test_a_run_without_a_case_or_a_method_is_refused(tmp_path: Path) -> None:
    first, second = _run(tmp_path / "a", (0.1, 0.8, 3.0), cases=7), _run(tmp_path / "b", (0.1, 0.4), cases=7)
    with pytest.raises(UserError, match="the run has no push 3"):
        benchmark.restricted(second, first)
    with pytest.raises(UserError, match="the run has no case"):
        benchmark.restricted(_run(tmp_path / "c", (0.1, 0.8, 3.0), cases=6), first)


def test_one_method_is_no_order(tmp_path: Path) -> None:
    run = _run(tmp_path / "a", (0.1,))
    with pytest.raises(UserError, match="the run has 1 finished methods to order"):
        list(benchmark.parts(run, run))
