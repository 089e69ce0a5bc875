"""What a regime is: how many edits stand in the model when it is asked. Each names its units of work and does them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.editors.base import Editor
from evaluation.edits.edit import own_answers
from evaluation.engines.base import Engine, Job, JobResult
from evaluation.inference.answering import Scorer
from evaluation.regimes.config import RegimeChoice
from schemas.cases import AnyCase
from schemas.core.ids import ID_LENGTH, canonical_json, content_id
from schemas.probes import Probe

Missing = Callable[["WorkUnit"], tuple[Probe, ...]]


class WorkUnit(NamedTuple):
    """A case to be asked when ``after`` edits stand in the model, its own being number ``position`` (from 1).

    ``key`` names it in the journal: outside ``single`` it holds the digest of all these edits.
    """

    key: str
    case: AnyCase
    after: int | None = None
    position: int | None = None

    @property
    def state(self) -> str:
        """What names the edits that stand in the model: units of one state are asked of the same weights."""
        return self.key if self.after is None else self.key.rpartition("@")[2]


class RegimeContext(NamedTuple):
    """What a regime works with.

    Attributes:
        cases: All cases of the run, in order.
        editor: The method.
        engine: Makes and asks independent edits.
        scorer: The model.
        folder: Where a sequence keeps what it says of its edits, and its snapshots.
        run: Id of the run, which snapshots are held to.
    """

    cases: Sequence[AnyCase]
    editor: Editor
    engine: Engine
    scorer: Scorer
    folder: Path
    run: str


class Regime(ABC):
    """What is to be done for one editor, and the doing."""

    def __init__(self, choice: RegimeChoice) -> None:
        self.choice = choice

    @abstractmethod
    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """All units of work, in order."""

    def leaders(self, units: Sequence[WorkUnit], cases: Sequence[AnyCase]) -> dict[str, str]:
        """Units that also ask what all cases share, one a state of the model: key of the unit -> state.

        Args:
            units: All units of the run.
            cases: Its cases.
        """
        first: dict[str, str] = {}
        for unit in units:
            first.setdefault(unit.state, unit.key)
        return {key: state for state, key in first.items()}

    @abstractmethod
    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Do units; each comes as soon as it is finished."""


def ask_under(
    edits: Sequence[Any], engine: Engine, jobs: Sequence[Job], rewrite: Callable[[str], str]
) -> list[JobResult]:
    """All jobs' probes asked under edits, the newest last: of the model as it stands, or of an edit that answers."""
    direct_answers = [own_answers(edits, job.probes) for job in jobs]
    results = [
        JobResult(job, answers) for job, answers in zip(jobs, direct_answers, strict=True) if answers is not None
    ]
    return results if len(results) == len(jobs) else engine.ask(jobs, rewrite=rewrite)


def edits_digest(cases: Sequence[AnyCase]) -> str:
    """What names a series of edits: their requests in order."""
    return content_id("edits", [case.request.id for case in cases])


def edits_digests(cases: Sequence[AnyCase]) -> list[str]:
    """``edits_digest`` of no case, of the first, of the first two ... and of all, in one pass.

    A sequence of 10,000 edits would otherwise be written out 10,000 times.
    """
    running = hashlib.sha256(b"edits\n[")
    out = [edits_digest(())]
    for n, case in enumerate(cases):
        running.update(f"{',' if n else ''}{canonical_json(case.request.id)}".encode())
        whole = running.copy()
        whole.update(b"]")
        out.append(whole.hexdigest()[:ID_LENGTH])
    return out
