from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, call

import pytest

from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import metrics_of
from evaluation.runs.frame import score_run
from evaluation.runs.progress import EditorProgress
from evaluation.runs.results import load_run
from evaluation.trackers import TRACKERS, base
from evaluation.trackers.base import POINTS, TrackedRun, Tracker, tracked
from evaluation.trackers.mlflow_tracker import BATCH, LONGEST, MlflowTracker
from evaluation.trackers.trackio_tracker import TrackioTracker
from evaluation.trackers.wandb_tracker import WandbTracker
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of


@pytest.mark.parametrize("name", TRACKERS.names())
def test_one_that_is_not_installed_says_how(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = TRACKERS.get(name)
    monkeypatch.setitem(sys.modules, kind.module, None)  # import raises, installed or not
    with pytest.raises(UserError) as caught:
        kind()
    assert (
        f"'{kind.package}', which is not installed" in str(caught.value)
        and caught.value.fix == f"pip install {kind.package}"
    )
    assert "\n" not in str(caught.value)


def test_no_library_is_imported_before_it_is_made() -> None:
    assert all(issubclass(TRACKERS.get(name), Tracker) for name in TRACKERS.names())
    assert not {"wandb", "mlflow", "trackio"} & sys.modules.keys()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    library = MagicMock()
    monkeypatch.setitem(sys.modules, "mlflow", library)
    for name in ("MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    return library


def test_every_setting_once_in_batches_that_it_takes(library: MagicMock) -> None:
    MlflowTracker().begin("mini", {"a": {str(n): n for n in range(2 * BATCH + 5)}, "long": "x" * 9000})
    calls = [call.args[0] for call in library.log_params.call_args_list]
    assert [len(batch) for batch in calls] == [BATCH, BATCH, 6]
    values = {name: value for batch in calls for name, value in batch.items()}
    assert values.pop("long") == "x" * LONGEST and values == {f"a.{n}": str(n) for n in range(2 * BATCH + 5)}
    library.set_experiment.assert_called_once_with("scedit")


@pytest.mark.parametrize("variable", ["MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"])
def test_an_experiment_of_the_environment_is_left_alone(
    library: MagicMock, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "7")
    MlflowTracker().begin("mini", {})
    library.set_experiment.assert_not_called()


@pytest.mark.parametrize(("failed", "status"), [(False, "FINISHED"), (True, "FAILED")])
def test_progress_figures_and_the_end(library: MagicMock, failed: bool, status: str) -> None:
    tracker = MlflowTracker()
    tracker.log({"it's/done": 1.0}, step=4)
    library.log_metrics.assert_called_once_with({"it_s/done": 1.0}, step=4)
    tracker.finish({} if failed else {"a(b)/es/mean": 0.5}, failed=failed)
    assert library.log_metrics.call_count == (1 if failed else 2)
    library.end_run.assert_called_once_with(status)


class Notebook(Tracker):
    """A tracker that writes down what it is told; ``fail`` names the methods that raise."""

    package, module = "json", "json"

    def __init__(self, *fail: str) -> None:
        super().__init__()
        self.fail, self.told = fail, []

    def _note(self, name: str, *what: Any) -> None:
        if name in self.fail:
            raise ConnectionError("no\nnetwork")
        self.told.append((name, *what))

    def begin(self, title: str, settings: Any) -> None:
        self._note("begin", title, settings)

    def log(self, values: Any, *, step: int) -> None:
        self._note("log", values, step)

    def finish(self, figures: Any, *, failed: bool) -> None:
        self._note("finish", figures, failed)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    book = Notebook()
    monkeypatch.setattr(base, "open_trackers", lambda names: [book] if names else [])
    return book


def execute(out: Path, names: tuple[str, ...], *, fail: bool = False) -> None:
    config = make_config(out, metrics=["es", "ns"], limit=3)
    with tracked(config, names) as tracking:
        if fail:
            raise KeyboardInterrupt
        runner_of(config, make_cases(4, 1), scorer=ArithmeticLM(), make=ArithmeticEditor, on_event=tracking).run()


def test_settings_progress_and_the_figures_of_the_table(tmp_path: Path, notebook: Notebook) -> None:
    execute(tmp_path / "mine", ("book",))
    (begin, title, settings), *points, (end, figures, failed) = notebook.told
    assert (begin, title, end, failed) == ("begin", "mine", "finish", False)
    assert settings["metrics"] == ["es", "ns"] and not {"out", "endpoint", "feed", "address"} & settings.keys()
    assert str(tmp_path) not in json.dumps(settings)
    steps = [step for _, _, step in points]
    assert steps == sorted(set(steps)) and all(name == "log" for name, *_ in points)
    run = load_run(tmp_path / "mine")
    metrics = metrics_of(run.about)
    for row in compare(run, score_run(run, metrics, "mean"), metrics)[0].rows:
        done = [values[f"{row.label}/done"] for _, values, _ in points if f"{row.label}/done" in values]
        assert done[-1] == 3 and done == sorted(done)
        for name, summary in row.summaries.items():
            assert figures[f"{row.label}/{name}/mean"] == summary.mean
            assert figures[f"{row.label}/{name}/cases"] == summary.cases


def test_no_path_of_this_machine_is_told() -> None:
    book = Notebook()
    secret = "/home/ann/secret-place"
    config = make_config(
        Path(secret) / "runs" / "mine",
        model=f"{secret}/llama",
        editors=["none", {"name": "mend", "params": {"checkpoint": f"{secret}/mend.safetensors", "layers": [1]}}],
        support={"file": f"{secret}/train.jsonl"},
    )
    TrackedRun([book]).begin(config)
    ((_, title, settings),) = book.told
    assert title == "mine" and "secret-place" not in str(settings) and "ann" not in str(settings)
    assert settings["model"] == "llama" and settings["support"]["file"] == "train.jsonl"
    params = next(e for e in settings["editors"].values() if e["name"] == "mend")["params"]
    assert params == {"checkpoint": "mend.safetensors", "layers": [1]}


def test_a_run_that_fails_is_closed_as_failed(tmp_path: Path, notebook: Notebook) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path / "mine", ("book",), fail=True)
    assert notebook.told[-1] == ("finish", {}, True)


def test_one_that_cannot_begin_is_refused_and_those_begun_are_closed(tmp_path: Path) -> None:
    good, bad = Notebook(), Notebook("begin")
    with pytest.raises(UserError) as caught:
        TrackedRun([good, bad]).begin(make_config(tmp_path / "run"))
    assert "cannot begin: no network" in str(caught.value) and "\n" not in str(caught.value)
    assert [name for name, *_ in good.told] == ["begin", "finish"] and good.told[-1][2] is True
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["log", "finish"])
def test_one_that_fails_later_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    good, bad = Notebook(), Notebook(method)
    monkeypatch.setattr(base, "open_trackers", lambda names: [bad, good])
    with caplog.at_level(logging.WARNING):
        execute(tmp_path / "run", ("book",))
    assert good.told[-1][0] == "finish" and good.told[-1][1]
    assert [r.getMessage() for r in caplog.records if "told nothing more" in r.getMessage()] == [
        "the tracker of 'json' is told nothing more: no\nnetwork"
    ]


def test_long_runs_are_told_in_few_points() -> None:
    book = Notebook()
    tracking, total = TrackedRun([book]), 100_000
    for done in range(total + 1):
        tracking(EditorProgress("rome", done, total, 0, 0, float(done)))
    values = [values["rome/done"] for _, values, _ in book.told]
    assert len(values) == POINTS + 1 and values[0] == 0 and values[-1] == total
    assert book.told[-1][1]["rome/seconds_per_case"] == 1.0


def test_settings_curve_and_figures_after_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    library = MagicMock()
    monkeypatch.setitem(sys.modules, "trackio", library)
    tracker = TrackioTracker()
    tracker.begin("mini", {"editors": {"rome": {"layer": 5}}, "_own": 1})
    tracker.log({"rome/done": 1.0}, step=1)
    tracker.log({"rome/done": 2.0}, step=2)
    tracker.finish({"rome/es/mean": 0.5}, failed=False)
    library.init.assert_called_once_with(project="scedit", name="mini", config={"editors.rome.layer": 5})
    assert library.log.call_args_list[-1] == call({"rome/es/mean": 0.5, "failed": 0.0}, step=3)
    assert [c.kwargs["step"] for c in library.log.call_args_list] == [1, 2, 3]
    library.finish.assert_called_once_with()


@pytest.mark.parametrize("project", [None, "mine"])
def test_settings_history_summary_and_exit_code(monkeypatch: pytest.MonkeyPatch, project: str | None) -> None:
    summary: dict[str, Any] = {}
    run = MagicMock(summary=summary)
    init = MagicMock(return_value=run)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    if project:
        monkeypatch.setenv("WANDB_PROJECT", project)
    tracker = WandbTracker()
    tracker.begin("mini", {"editors": {"rome": {}}})
    tracker.log({"rome/done": 1.0}, step=3)
    tracker.finish({"rome/es/mean": 0.5}, failed=True)
    init.assert_called_once_with(project=project or "scedit", name="mini", config={"editors": {"rome": {}}})
    run.log.assert_called_once_with({"rome/done": 1.0}, step=3)
    run.finish.assert_called_once_with(exit_code=1)
    assert summary == {"rome/es/mean": 0.5}
