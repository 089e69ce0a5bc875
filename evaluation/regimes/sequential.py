"""``sequential``: one edit after the other in one model, scored right after each, at given lengths, or both."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

from evaluation.edits.edit import CarryingEdit
from evaluation.edits.weight_deltas import DeltaStack
from evaluation.engines.base import Job, JobResult, case_error, plain
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit, ask_under, edits_digest
from schemas.cases import AnyCase

log = logging.getLogger(__name__)


class SequentialRegime(Regime):
    """One edit after the other, all staying in the model."""

    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """Where a case is asked right after its edit, and the cases so far at every length that they reach."""
        lengths = self._lengths(cases)
        last, now = max(lengths, default=0), self.choice.score in ("immediate", "both")
        out: dict[str, WorkUnit] = {}
        for n in range(1, last + 1):
            digest = edits_digest(cases[:n])
            first = 0 if n in lengths and self.choice.score in ("end", "both") else n - 1 if now else n
            for position in range(first + 1, n + 1):
                case = cases[position - 1]
                key = f"{case.key}@{digest}"
                out[key] = WorkUnit(key, case, n, position)
        return list(out.values())

    def leaders(self, units: Sequence[WorkUnit], cases: Sequence[AnyCase]) -> dict[str, str]:
        """A unit a length: what all cases share is not asked after every single edit."""
        lengths = self._lengths(cases)
        return super().leaders([unit for unit in units if unit.after in lengths], cases)

    def _lengths(self, cases: Sequence[AnyCase]) -> set[int]:
        """Lengths that there are cases for; all cases, where there are fewer than the smallest length."""
        return {n for n in self.choice.sizes if n <= len(cases)} or {len(cases)}

    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Edit after edit; edits before a missing unit are made again, since the model they left is needed."""
        cases, scorer = context.cases, context.scorer
        last = max((u.after or 0 for u in units), default=0)
        with ExitStack() as stack:
            weights = None if scorer.weights is None else stack.enter_context(DeltaStack(scorer.weights))
            edits: list[Any] = []
            for n, case in enumerate(cases[:last], 1):
                todo = [u for u in units if u.after == n]
                begun = time.perf_counter()
                try:
                    edit = context.editor.edit_after([case.request], edits)
                    if weights is not None and edit.deltas is not None:
                        weights.add(edit.deltas)
                        edits[-1:] = [_drop_carried(last) for last in edits[-1:]]
                        edits.append(_drop_weights(edit))
                    else:
                        stack.enter_context(edit.on(scorer.editable))
                        edits.append(edit)
                    noted, error = plain(edit.notes), None
                except Exception as problem:  # noqa: BLE001 - the sequence goes on without this edit, and says so
                    log.warning("edit %d of the sequence (%s) failed: %s", n, case.key, problem)
                    noted, error = {}, case_error(problem)
                spent = time.perf_counter() - begun
                if not todo:
                    continue
                jobs = [Job(u.key, u.case, missing(u)) for u in todo]
                rewrite = _compose([edit.rewrite for edit in edits])
                for unit, done in zip(todo, ask_under(edits, context.engine, jobs, rewrite), strict=True):
                    if unit.position == n:
                        done = done._replace(notes={**noted, **done.notes}, seconds_edit=spent, error=error)
                        done = done if error is None else done._replace(answers=())
                    yield unit, done


def _drop_weights(edit: object) -> Any:
    """An edit whose changes stand in the weights, without its copy of them: a long sequence would fill the memory."""
    if not is_dataclass(edit) or isinstance(edit, type) or "deltas" not in {f.name for f in fields(edit)}:
        return edit
    return replace(edit, deltas=())


def _drop_carried(edit: object) -> Any:
    """An edit that another followed, without what only the newest needs."""
    return replace(edit, carried=None) if isinstance(edit, CarryingEdit) else edit


def _compose(rewrites: Sequence[Callable[[str], str]]) -> Callable[[str], str]:
    """Prompts rewritten by every edit, the earliest first, so that the newest stands in front."""
    return lambda prompt: reduce(lambda text, rewrite: rewrite(text), rewrites, prompt)
