"""What MLflow is told, over a library that writes it down: names that it takes, parameters in batches."""

from __future__ import annotations

import sys
from unittest.mock import MagicMock

import pytest

from evaluation.trackers.mlflow_tracker import BATCH, LONGEST, MlflowTracker, mlflow_name


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


def test_letters_that_it_refuses() -> None:
    assert mlflow_name("\u202e':é\n") == "_____" and mlflow_name("a-b_c.d e/f") == "a-b_c.d e/f"
