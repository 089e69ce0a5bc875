"""What an engine is: units of work in, results out; what a run consists of and what is kept is the runner's matter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from evaluation.engines.protocols import EditorLike
from schemas.answers import Answer
from schemas.cases import Case
from schemas.probes import Probe


class Job(NamedTuple):
    """One unit of work: a case, and what is still to be asked of it. ``key`` names the unit in the journal."""

    key: str
    case: Case
    probes: tuple[Probe, ...]


class JobResult(NamedTuple):
    """What became of a job. In a group, times are shares of the group's time, and the peak is the group's."""

    job: Job
    answers: Sequence[Answer] = ()
    notes: Mapping[str, Any] = {}
    error: str | None = None
    seconds_edit: float = 0.0
    seconds_score: float = 0.0
    peak_bytes: int | None = None


class Engine(Protocol):
    """How independent single edits are made and scored, and how probes are asked of a model as it stands."""

    def expect(self, editors: Iterable[EditorLike]) -> None:
        """Told once which methods will come, before the unedited model is asked."""
        ...

    def work(self, editor: EditorLike, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """An edit of its own for every job; results as they are finished, in any order."""
        ...

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[JobResult]:
        """All jobs' probes asked of the model as it stands, in the order of the jobs."""
        ...


def explained(error: Exception) -> str:
    """An exception as a result's error."""
    return f"{type(error).__name__}: {error}"


def plain(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Notes as JSON values; what JSON does not know becomes a number where it can, else text."""

    def other(value: Any) -> Any:
        try:
            return float(value)
        except (TypeError, ValueError):
            return str(value)

    found: dict[str, Any] = json.loads(json.dumps(dict(notes), default=other))
    return found
