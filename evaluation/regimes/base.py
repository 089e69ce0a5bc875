"""Regimes: how many edits stand in the model when it is asked. Each names its units of work and does them.

- ``single``: each edit alone, then undone.
- ``batch``: so many edits made at once, then undone.
- ``sequential``: one edit after the other in one model, scored right after each edit, at given lengths, or both.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

from evaluation.edits.weight_deltas import Accumulated
from evaluation.engines.fast import Done, Engine, Job, explained, plain
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.plan import EditorLike
from schemas.cases import Case
from schemas.core.ids import content_id
from schemas.probes import Probe

log = logging.getLogger(__name__)

Missing = Callable[["Unit"], tuple[Probe, ...]]


class Unit(NamedTuple):
    """A case to be asked when ``after`` edits stand in the model, its own being number ``position`` (from 1).

    ``key`` names it in the journal: outside ``single`` it holds the digest of all these edits.
    """

    key: str
    case: Case
    after: int | None = None
    position: int | None = None


class Given(NamedTuple):
    """What a regime works with: all cases of the run in order, the method, the engine, the model."""

    cases: Sequence[Case]
    editor: EditorLike
    engine: Engine
    lm: Any


class Regime(ABC):
    """What is to be done for one editor, and the doing."""

    def __init__(self, choice: RegimeChoice) -> None:
        self.choice = choice

    @abstractmethod
    def units(self, cases: Sequence[Case]) -> list[Unit]:
        """All units of work, in order."""

    @abstractmethod
    def run(self, units: Sequence[Unit], missing: Missing, given: Given) -> Iterator[tuple[Unit, Done]]:
        """Do units; each comes as soon as it is finished."""


class Single(Regime):
    """Each edit alone, then undone."""

    def units(self, cases: Sequence[Case]) -> list[Unit]:
        """A unit a case."""
        return [Unit(case.key, case) for case in cases]

    def run(self, units: Sequence[Unit], missing: Missing, given: Given) -> Iterator[tuple[Unit, Done]]:
        """All of them through the engine."""
        known = {unit.key: unit for unit in units}
        for done in given.engine.work(given.editor, [Job(u.key, u.case, missing(u)) for u in units]):
            yield known[done.job.key], done


class Batch(Regime):
    """So many edits made at once; the last batch may be smaller."""

    def units(self, cases: Sequence[Case]) -> list[Unit]:
        """A unit a case, named by its batch."""
        return [unit for batch in self._batches(cases) for unit in _batch_units(batch)]

    def _batches(self, cases: Sequence[Case]) -> list[Sequence[Case]]:
        size = self.choice.sizes[0]
        return [cases[start : start + size] for start in range(0, len(cases), size)]

    def run(self, units: Sequence[Unit], missing: Missing, given: Given) -> Iterator[tuple[Unit, Done]]:
        """Batch by batch: one edit for all its cases, then the cases that are missing."""
        wanted = {unit.key: unit for unit in units}
        for batch in self._batches(given.cases):
            todo = [wanted[u.key] for u in _batch_units(batch) if u.key in wanted]
            if not todo:
                continue
            jobs = [Job(u.key, u.case, missing(u)) for u in todo]
            begun = time.perf_counter()
            try:
                edit = given.editor.edit([case.fact for case in batch])
                spent = (time.perf_counter() - begun) / len(batch)
                with edit.on(given.lm):
                    found = given.engine.ask(jobs, rewrite=edit.rewrite)
                noted = plain(edit.notes)
            except Exception as problem:  # noqa: BLE001 - this batch's fault is its cases' result
                log.warning("a batch of %d edits failed: %s", len(batch), problem)
                found, noted, spent = [Done(job, error=explained(problem)) for job in jobs], {}, 0.0
            for unit, done in zip(todo, found, strict=True):
                yield unit, done._replace(notes={**noted, **done.notes}, seconds_edit=spent)


def _batch_units(batch: Sequence[Case]) -> list[Unit]:
    digest = edits_digest(batch)
    return [Unit(f"{case.key}@{digest}", case, len(batch), n) for n, case in enumerate(batch, 1)]


class Sequential(Regime):
    """One edit after the other, all staying in the model."""

    def units(self, cases: Sequence[Case]) -> list[Unit]:
        """Where a case is asked right after its edit, and the cases so far at every length that they reach."""
        lengths = self._lengths(cases)
        last, now = max(lengths, default=0), self.choice.score in ("immediate", "both")
        out: dict[str, Unit] = {}
        for n in range(1, last + 1):
            digest = edits_digest(cases[:n])
            first = 0 if n in lengths and self.choice.score in ("end", "both") else n - 1 if now else n
            for position in range(first + 1, n + 1):
                case = cases[position - 1]
                key = f"{case.key}@{digest}"
                out[key] = Unit(key, case, n, position)
        return list(out.values())

    def _lengths(self, cases: Sequence[Case]) -> set[int]:
        """Lengths that there are cases for; all cases, where there are fewer than the smallest length."""
        return {n for n in self.choice.sizes if n <= len(cases)} or {len(cases)}

    def run(self, units: Sequence[Unit], missing: Missing, given: Given) -> Iterator[tuple[Unit, Done]]:
        """Edit after edit; edits before a missing unit are made again, since the model they left is needed."""
        cases, lm = given.cases, given.lm
        last = max((u.after or 0 for u in units), default=0)
        with ExitStack() as stack:
            weights = stack.enter_context(Accumulated(lm.model)) if hasattr(lm, "model") else None
            edits: list[Any] = []
            for n, case in enumerate(cases[:last], 1):
                todo = [u for u in units if u.after == n]
                begun = time.perf_counter()
                try:
                    edit = given.editor.edit_after([case.fact], edits)
                    if weights is not None and edit.deltas is not None:
                        weights.add(edit.deltas)
                        edits.append(_spent(edit))
                    else:
                        stack.enter_context(edit.on(lm))
                        edits.append(edit)
                    noted, error = plain(edit.notes), None
                except Exception as problem:  # noqa: BLE001 - the sequence goes on without this edit, and says so
                    log.warning("edit %d of the sequence (%s) failed: %s", n, case.key, problem)
                    noted, error = {}, explained(problem)
                spent = time.perf_counter() - begun
                if not todo:
                    continue
                jobs = [Job(u.key, u.case, missing(u)) for u in todo]
                rewrite = _composed([edit.rewrite for edit in edits])
                for unit, done in zip(todo, given.engine.ask(jobs, rewrite=rewrite), strict=True):
                    if unit.position == n:
                        done = done._replace(notes=noted, seconds_edit=spent, error=error)
                        done = done if error is None else done._replace(answers=())
                    yield unit, done


def _spent(edit: object) -> Any:
    """An edit whose changes stand in the weights, without its copy of them: a long sequence would fill the memory."""
    if not is_dataclass(edit) or isinstance(edit, type) or "deltas" not in {f.name for f in fields(edit)}:
        return edit
    return replace(edit, deltas=())


def _composed(rewrites: Sequence[Callable[[str], str]]) -> Callable[[str], str]:
    """Prompts rewritten by every edit, the earliest first, so that the newest stands in front."""
    return lambda prompt: reduce(lambda text, rewrite: rewrite(text), rewrites, prompt)


def edits_digest(cases: Sequence[Case]) -> str:
    """What names a series of edits: their facts in order."""
    return content_id("edits", [case.fact.id for case in cases])


REGIMES: dict[str, type[Regime]] = {"single": Single, "batch": Batch, "sequential": Sequential}


def make_regime(choice: RegimeChoice) -> Regime:
    """The regime of a choice."""
    return REGIMES[choice.name](choice)
