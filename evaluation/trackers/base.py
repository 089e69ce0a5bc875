"""Trackers of experiments: what each is told of a run (settings, progress, figures), and a run that tells it.

A tracker that cannot begin is refused at once. One that fails later costs the run nothing: a warning says so once, and
it is told nothing more. What a run computes does not depend on trackers, and nothing of them is stored with it.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import Any, ClassVar

from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import metrics_of
from evaluation.runs.config import RunConfig
from evaluation.runs.frame import score_run
from evaluation.runs.progress import EditorProgress
from evaluation.runs.results import load_run
from evaluation.trackers import TRACKERS
from schemas.core.errors import UserError

PROJECT = "scedit"
"""Where runs stand in a tracker, unless its own environment variables say otherwise."""


class Tracker:
    """One tracker, for one run. A plug-in implements the three methods; its library is imported when it is made.

    Attributes:
        package: The package to install, as pip names it.
        module: The module that it brings.
    """

    package: ClassVar[str]
    module: ClassVar[str]

    def __init__(self) -> None:
        try:
            self.library: Any = importlib.import_module(self.module)
        except ImportError:
            raise UserError(
                f"the tracker needs the package '{self.package}', which is not installed",
                fix=f"pip install {self.package}",
            ) from None

    def begin(self, title: str, settings: Mapping[str, Any]) -> None:
        """Open a run.

        Args:
            title: Its name.
            settings: What it runs with, nested as in the configuration.
        """
        raise NotImplementedError

    def log(self, values: Mapping[str, float], *, step: int) -> None:
        """Tell how far the run is; ``step`` rises over all methods."""
        raise NotImplementedError

    def finish(self, figures: Mapping[str, float], *, failed: bool) -> None:
        """Tell the figures, none where the run failed, and close it."""
        raise NotImplementedError


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings without nesting, for trackers that take names and values.

    Example:
        >>> flat_settings({"editors": {"rome": {"layer": 5}}, "limit": None})
        {'editors.rome.layer': 5, 'limit': None}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            flat |= flat_settings(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


POINTS = 200
"""Points of a method's curve at most; trackers behind a network take few calls a second."""
PRIVATE = {"endpoint", "out", "feed", "address"}
"""Settings that are of this machine, or could hold an address with a password: no tracker is told them."""

_log = logging.getLogger(__name__)


def open_trackers(names: Sequence[str]) -> list[Tracker]:
    """The trackers of these names, each once; their libraries are imported here.

    Raises:
        UserError: an unknown name, or a tracker that is not installed.
    """
    return [TRACKERS.get(name)() for name in dict.fromkeys(names)]


class TrackedRun:
    """Tells a run's progress to trackers; call it with every event."""

    def __init__(self, trackers: Sequence[Tracker]) -> None:
        self._trackers, self._step, self._points = list(trackers), 0, dict[str, int]()

    def begin(self, config: RunConfig) -> None:
        """Open the run in every tracker.

        Raises:
            UserError: one of them cannot.
        """
        settings = without_folders(config.model_dump(mode="json", exclude=PRIVATE))
        settings["split"] = {"name": config.split.name or (config.split.file.stem if config.split.file else None)}
        begun: list[Tracker] = []
        for tracker in self._trackers:
            try:
                tracker.begin(config.out.name, settings)
            except Exception as error:  # noqa: BLE001 - a plug-in's library may raise anything
                self._trackers = begun
                self.finish({}, failed=True)
                reason = " ".join(str(error).split())[:200] or type(error).__name__
                raise UserError(
                    f"the tracker of the package '{tracker.package}' cannot begin: {reason}",
                    fix="mend that, or run without --tracker",
                ) from None
            begun.append(tracker)

    def __call__(self, event: EditorProgress) -> None:
        """Tell one event, where it is one of the curve's points."""
        point = event.done * POINTS // event.total if event.total else None
        if point is None or self._points.get(event.label) == point:
            return
        self._step, self._points[event.label] = self._step + 1, point
        values = {"done": float(event.done), "failed": float(event.failed)}
        if computed := event.done - event.resumed:
            values["seconds_per_case"] = event.seconds / computed
        named = {f"{event.label}/{name}": value for name, value in values.items()}
        self._tell(lambda tracker: tracker.log(named, step=self._step))

    def finish(self, figures: Mapping[str, float], *, failed: bool) -> None:
        """Close the run in every tracker."""
        self._tell(lambda tracker: tracker.finish(figures, failed=failed))

    def _tell(self, call: Callable[[Tracker], None]) -> None:
        for tracker in list(self._trackers):
            try:
                call(tracker)
            except Exception as error:  # noqa: BLE001 - no tracker may cost a run
                self._trackers.remove(tracker)
                _log.warning("the tracker of '%s' is told nothing more: %s", tracker.package, error)


def without_folders(value: Any) -> Any:
    """Settings with the last part of every path that begins at a root or a home, and not the folders before it.

    Example:
        >>> without_folders({"model": "/home/ann/llama", "layers": [4], "name": "meta/llama"})
        {'model': 'llama', 'layers': [4], 'name': 'meta/llama'}
    """
    if isinstance(value, dict):
        return {name: without_folders(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_folders(one) for one in value]
    if isinstance(value, str) and (value.startswith(("/", "~")) or PureWindowsPath(value).drive):
        return PureWindowsPath(value).name
    return value


@contextmanager
def tracked(config: RunConfig, names: Sequence[str]) -> Iterator[TrackedRun]:
    """A run under trackers: begun at once, given the figures where the block ends well, marked as failed where not.

    Args:
        config: What is run.
        names: Of trackers; none is fine.
    """
    run = TrackedRun(open_trackers(names))
    run.begin(config)
    try:
        yield run
    except BaseException:
        run.finish({}, failed=True)
        raise
    run.finish(figures_of(config.out, config.normalisation) if names else {}, failed=False)


def figures_of(folder: Path, normalisation: Any) -> dict[str, float]:
    """Figures of a finished run by name: ``method/metric/mean`` with the ends of its 95 % interval, and the cases."""
    run = load_run(folder)
    metrics = metrics_of(run.about)
    figures: dict[str, float] = {}
    for row in compare(run, score_run(run, metrics, normalisation), metrics)[0].rows:
        for name, summary in row.summaries.items():
            interval = summary.interval
            values = {"mean": interval.mean, "low_95": interval.low, "high_95": interval.high, "cases": summary.cases}
            figures |= {f"{row.label}/{name}/{what}": float(v) for what, v in values.items() if v is not None}
    return figures
