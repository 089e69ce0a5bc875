"""Runs in MLflow (https://mlflow.org/docs/latest/ml/tracking/); its own environment variables say where they go."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar

from typing_extensions import override

from evaluation.trackers.base import PROJECT, Tracker, flat_settings

BATCH = 100
"""Parameters of one call, as MLflow's REST interface limits them."""
LONGEST = 500
"""Characters of a parameter's value that every version takes."""


class MlflowTracker(Tracker):
    """MLflow: settings as parameters, progress and figures as metrics."""

    package: ClassVar[str] = "mlflow"
    module: ClassVar[str] = "mlflow"

    def begin(self, title: str, settings: Mapping[str, Any]) -> None:
        """Open a run; a value that is too long for a parameter is cut."""
        if not {"MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"} & os.environ.keys():
            self.library.set_experiment(PROJECT)
        self.library.start_run(run_name=title)
        values = {mlflow_name(name): str(value)[:LONGEST] for name, value in flat_settings(settings).items()}
        rest = iter(values.items())
        while batch := dict(islice(rest, BATCH)):
            self.library.log_params(batch)

    @override
    def log(self, values: Mapping[str, float], *, step: int) -> None:
        self.library.log_metrics({mlflow_name(name): value for name, value in values.items()}, step=step)

    @override
    def finish(self, figures: Mapping[str, float], *, failed: bool) -> None:
        if figures:
            self.library.log_metrics({mlflow_name(name): value for name, value in figures.items()})
        self.library.end_run("FAILED" if failed else "FINISHED")


def mlflow_name(name: str) -> str:
    """A name of letters that MLflow takes.

    Example:
        >>> mlflow_name("rome (L5)/es/mean")
        'rome _L5_/es/mean'
    """
    return re.sub(r"[^A-Za-z0-9_. /-]", "_", name)
