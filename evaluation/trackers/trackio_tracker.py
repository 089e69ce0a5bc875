"""Runs in trackio (https://huggingface.co/docs/trackio), which keeps them on this machine unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override

from evaluation.trackers.base import PROJECT, Tracker, flat_settings


class TrackioTracker(Tracker):
    """trackio: progress and figures as metrics, the figures after everything else."""

    package: ClassVar[str] = "trackio"
    module: ClassVar[str] = "trackio"

    @override
    def begin(self, title: str, settings: Mapping[str, Any]) -> None:
        self._step = 0
        config = {name: value for name, value in flat_settings(settings).items() if not name.startswith("_")}
        self.library.init(project=PROJECT, name=title, config=config)

    @override
    def log(self, values: Mapping[str, float], *, step: int) -> None:
        self._step = step
        self.library.log(dict(values), step=step)

    def finish(self, figures: Mapping[str, float], *, failed: bool) -> None:
        """The figures, and the run's end; a run that failed has ``failed`` = 1."""
        self.library.log({**figures, "failed": float(failed)}, step=self._step + 1)
        self.library.finish()
