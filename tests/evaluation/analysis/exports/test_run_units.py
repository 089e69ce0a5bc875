"""What exports go through: every result once, in order, then the run; probes by id in the first metric's words."""

from __future__ import annotations

import pytest

from evaluation.analysis.exports.run_units import asked_probes, results_of, run_units, whole_run
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError
from tests.support.report.read_report import finished


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(finished(tmp_path_factory.mktemp("run") / "mine", metrics=["es", "s_es"], limit=3))


def test_every_result_once_and_the_run_last(run: Run) -> None:
    *units, last = run_units(run, (), None)
    assert last.case is None and last.editor is None and [m.name for m in last.metrics] == ["es", "s_es"]
    assert [(u.editor and u.editor.label, u.case and u.case.key) for u in units] == [
        (editor.label, key) for editor in run.editors for key in editor.results
    ]


def test_probes_are_those_of_all_metrics_also_where_fewer_are_exported(run: Run) -> None:
    whole = whole_run(run, ["es"], "sum")
    assert whole.normalisation == "sum" and [m.name for m in whole.metrics] == ["es"]
    for unit in results_of(whole, run.baseline):
        wanted = {p.id: p for m in reversed(load_metrics(["es", "s_es"])) for p in m.probes(unit.case)}
        assert asked_probes(unit) == wanted and {p.purpose for p in wanted.values()} == {"fact", "script"}


def test_a_metric_that_the_run_has_not_is_refused(run: Run) -> None:
    with pytest.raises(UserError, match="the run has no metric 'ps'"):
        list(run_units(run, ["ps"], None))
