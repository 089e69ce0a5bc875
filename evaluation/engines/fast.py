"""Engines: they make edits and ask probes under them; what a run consists of and what is kept is the runner's matter.

``SimpleEngine`` is the reference: one edit at a time, put on the model, asked, taken off. ``FastEngine`` makes a group
of edits together and scores all their probes in shared passes, each row under its own edit; its answers equal those of
the reference within 1e-4 nats in float32.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evaluation.engines.peak_memory import PeakMemory
from evaluation.inference.answering import answer, joined, scored, write_each, written
from evaluation.runs.plan import EditLike, EditorLike, Scorer
from schemas.answers import Answer
from schemas.cases import Case
from schemas.probes import Probe

if TYPE_CHECKING:
    from evaluation.inference.batched_scoring import Asked, EditScorer
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

GROUP = {"cpu": 32, "cuda": 256}
"""Cases whose edits are made together; a killed run loses at most one group's work."""


class Job(NamedTuple):
    """One unit of work: a case, and what is still to be asked of it. ``key`` names the unit in the journal."""

    key: str
    case: Case
    probes: tuple[Probe, ...]


class Done(NamedTuple):
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

    def work(self, editor: EditorLike, jobs: Sequence[Job]) -> Iterator[Done]:
        """An edit of its own for every job; results as they are finished, in any order."""
        ...

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[Done]:
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


class SimpleEngine:
    """One edit at a time: the slow reference path.

    Args:
        lm: The model; every edit leaves it as it was.
        batch_tokens: Most tokens of one forward pass.
        device: Where its memory is measured.
    """

    def __init__(self, lm: Scorer, *, batch_tokens: int = 4096, device: str = "cpu") -> None:
        self.lm, self.batch_tokens, self.device = lm, batch_tokens, device

    def expect(self, editors: Iterable[EditorLike]) -> None:
        """Nothing is to be prepared."""

    def work(self, editor: EditorLike, jobs: Sequence[Job]) -> Iterator[Done]:
        """See ``Engine``."""
        for job in jobs:
            yield self._one(editor, job)

    def _one(self, editor: EditorLike, job: Job) -> Done:
        peak, start, scored = PeakMemory(self.device), time.perf_counter(), 0.0
        answers: Sequence[Answer] = ()
        notes: dict[str, Any] = {}
        error = None
        try:
            edit = editor.edit([job.case.fact])
            with edit.on(self.lm):
                begun = time.perf_counter()
                answers = answer(self.lm, job.probes, rewrite=edit.rewrite, batch_tokens=self.batch_tokens)
                scored = time.perf_counter() - begun
            notes = plain(edit.notes)
        except Exception as problem:  # one case's fault is that case's result; the others go on
            log.warning("case %s failed: %s", job.case.key, problem, exc_info=log.isEnabledFor(logging.DEBUG))
            answers, notes, error = (), {}, explained(problem)
        top = peak.read()
        edited = time.perf_counter() - start - scored
        return Done(job, answers, notes, error, edited, scored, top)

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[Done]:
        """See ``Engine``."""
        out = []
        for job in jobs:
            begun = time.perf_counter()
            answers = answer(self.lm, job.probes, rewrite=rewrite, batch_tokens=self.batch_tokens)
            out.append(Done(job, answers, seconds_score=time.perf_counter() - begun))
        return out


class FastEngine:
    """Groups of edits made together, scored together.

    Args:
        lm: The model.
        scorer: Scores under many edits; made for the model where it is not given.
        group: Cases in a group.
    """

    def __init__(self, lm: LM, *, scorer: EditScorer | None = None, group: int | None = None) -> None:
        from evaluation.inference.batched_scoring import EditScorer

        self.lm, self.scorer = lm, scorer or EditScorer(lm)
        self.group = group or GROUP.get(lm.device.type, GROUP["cpu"])

    def expect(self, editors: Iterable[EditorLike]) -> None:
        """Keep what the unedited model computes below the layers at which these methods' edits begin."""
        layers = {layer for editor in editors if (layer := getattr(editor, "first_layer", None))}
        self.scorer.kept.layers = frozenset(layers)

    def work(self, editor: EditorLike, jobs: Sequence[Job]) -> Iterator[Done]:
        """See ``Engine``."""
        waiting = iter(jobs)
        while group := list(islice(waiting, self.group)):
            yield from self._together(editor, group)

    def _together(self, editor: EditorLike, jobs: list[Job]) -> list[Done]:
        peak, start = PeakMemory(str(self.lm.device)), time.perf_counter()
        edits = _edits(editor, jobs)
        edited = (time.perf_counter() - start) / len(jobs)
        start = time.perf_counter()
        made = [(job, edit) for job, edit in zip(jobs, edits, strict=True) if not isinstance(edit, Exception)]
        answers = dict(zip([job.key for job, _ in made], self._score(made), strict=True))
        share = (time.perf_counter() - start) / max(1, sum(len(job.probes) for job in jobs))
        top, out = peak.read(), []
        for job, edit in zip(jobs, edits, strict=True):
            found = edit if isinstance(edit, Exception) else answers[job.key]
            if isinstance(found, Exception) or isinstance(edit, Exception):
                problem = found if isinstance(found, Exception) else edit
                log.warning("case %s failed: %s", job.case.key, problem)
                assert isinstance(problem, Exception)
                out.append(Done(job, error=explained(problem), seconds_edit=edited, peak_bytes=top))
                continue
            out.append(Done(job, found, plain(edit.notes), None, edited, share * len(job.probes), top))
        return out

    def _score(self, made: list[tuple[Job, Any]]) -> list[list[Answer] | Exception]:
        """Answers under every edit; edits that cannot share a batch are put on the model one at a time."""
        from evaluation.inference.batched_scoring import Asked

        found: dict[str, list[Answer] | Exception] = {}
        sharing = [(job, edit) for job, edit in made if edit.deltas is not None]
        asked = [Asked(edit.deltas, edit.rewrite, job.probes) for job, edit in sharing]
        try:
            together = _asked(self.scorer, asked)
            found.update(zip([job.key for job, _ in sharing], together, strict=True))
        except Exception as problem:  # find out whose fault it is
            log.debug("scoring a group failed (%s); its cases are scored one by one", problem, exc_info=True)
            for (job, _), one in zip(sharing, asked, strict=True):
                found[job.key] = _tried(self._one, one)
        for job, edit in made:
            if edit.deltas is None:
                found[job.key] = _tried(self._alone, edit, job)
        return [found[job.key] for job, _ in made]

    def _one(self, asked: Asked) -> list[Answer]:
        return _asked(self.scorer, [asked])[0]

    def _alone(self, edit: EditLike, job: Job) -> list[Answer]:
        with edit.on(self.lm):
            return answer(self.lm, job.probes, rewrite=edit.rewrite)

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[Done]:
        """See ``Engine``. The model may be an edited one, so nothing of it is kept."""
        from evaluation.inference.batched_scoring import Asked

        start = time.perf_counter()
        found = _asked(self.scorer.apart(), [Asked((), rewrite, job.probes) for job in jobs])
        share = (time.perf_counter() - start) / max(1, sum(len(job.probes) for job in jobs))
        return [
            Done(job, answers, seconds_score=share * len(job.probes)) for job, answers in zip(jobs, found, strict=True)
        ]


def _asked(scorer: EditScorer, asked: Sequence[Asked]) -> list[list[Answer]]:
    """Answers of every edit in the order of its probes: log-probabilities in shared passes, then texts likewise."""
    scores = scorer.score([one._replace(probes=scored(one.probes)) for one in asked])
    if not any(written(one.probes) for one in asked):
        return scores
    texts = write_each(scorer.lm, asked)
    return [joined(one.probes, *both) for one, *both in zip(asked, scores, texts, strict=True)]


def _edits(editor: EditorLike, jobs: Sequence[Job]) -> list[Any]:
    """One edit a job, made together; an exception stands where one cannot be made."""
    try:
        return list(editor.edit_each([job.case.fact for job in jobs]))
    except Exception as problem:  # find out whose fault it is
        if len(jobs) == 1:
            return [problem]
        log.debug("editing a group failed (%s); its cases are edited one by one", problem, exc_info=True)
    return [_tried(editor.edit, [job.case.fact]) for job in jobs]


def _tried(make: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or its exception as a value."""
    try:
        return make(*given)
    except Exception as problem:  # noqa: BLE001 - one case's fault is that case's result
        return problem
