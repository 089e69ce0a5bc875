"""``sequential``: one edit after the other in one model, scored right after each, at given lengths, or both."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from evaluation.engines.base import Job, JobResult, case_error, plain
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit, ask_under, edits_digest
from evaluation.regimes.edit_chain import EditChain
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
            chain = EditChain(scorer, stack)
            for n, case in enumerate(cases[:last], 1):
                todo = [u for u in units if u.after == n]
                begun = time.perf_counter()
                try:
                    noted, error = plain(chain.add(context.editor, case.request).notes), None
                except Exception as problem:  # noqa: BLE001 - the sequence goes on without this edit, and says so
                    log.warning("edit %d of the sequence (%s) failed: %s", n, case.key, problem)
                    noted, error = {}, case_error(problem)
                spent = time.perf_counter() - begun
                if not todo:
                    continue
                jobs = [Job(u.key, u.case, missing(u)) for u in todo]
                results = ask_under(chain.edits, context.engine, jobs, chain.rewrite)
                for unit, done in zip(todo, results, strict=True):
                    if unit.position == n:
                        done = done._replace(notes={**noted, **done.notes}, seconds_edit=spent, error=error)
                        done = done if error is None else done._replace(answers=())
                    yield unit, done
