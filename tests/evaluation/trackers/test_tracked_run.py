"""A run under trackers: told everything once, closed however it ends; a tracker that fails costs the run nothing."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from evaluation.analysis.comparison import compare
from evaluation.runs.frame import score_run
from evaluation.runs.plan import metrics_of
from evaluation.runs.results import load_run
from evaluation.runs.runner import EditorProgress
from evaluation.trackers import TRACKERS, base
from evaluation.trackers.base import POINTS, TrackedRun, Tracker, open_trackers, tracked
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of


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


def test_what_is_stored_is_the_same_with_and_without(tmp_path: Path, notebook: Notebook) -> None:
    for name, trackers in (("with", ("book",)), ("without", ())):
        execute(tmp_path / name / "run", trackers)
    files = [sorted(p.relative_to(tmp_path / n) for p in (tmp_path / n).rglob("*")) for n in ("with", "without")]
    assert files[0] == files[1]
    for path in (tmp_path / "with").rglob("manifest.json"):
        assert path.read_text() == (tmp_path / "without" / path.relative_to(tmp_path / "with")).read_text()


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


def test_a_run_without_cases_says_nothing() -> None:
    book = Notebook()
    TrackedRun([book])(EditorProgress("rome", 0, 0, 0, 0, 0.0))
    assert book.told == []


def test_names_are_opened_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(TRACKERS), "get", lambda self, name: Notebook)
    assert len(open_trackers(["wandb", "mlflow", "wandb"])) == 2
    assert open_trackers([]) == []
