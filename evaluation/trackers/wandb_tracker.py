"""Runs in Weights & Biases (https://docs.wandb.ai/ref/python/); WANDB_PROJECT and WANDB_MODE are heeded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override

from evaluation.trackers.base import PROJECT, Tracker


class WandbTracker(Tracker):
    """Weights & Biases: progress as history, figures as the run's summary."""

    package: ClassVar[str] = "wandb"
    module: ClassVar[str] = "wandb"

    @override
    def begin(self, title: str, settings: Mapping[str, Any]) -> None:
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        self._run = self.library.init(project=project, name=title, config=dict(settings))

    @override
    def log(self, values: Mapping[str, float], *, step: int) -> None:
        self._run.log(dict(values), step=step)

    @override
    def finish(self, figures: Mapping[str, float], *, failed: bool) -> None:
        self._run.summary.update(dict(figures))
        self._run.finish(exit_code=int(failed))
