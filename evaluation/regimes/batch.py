"""``batch``: so many edits made at once, then undone."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

from evaluation.engines.base import Job, JobResult, case_error, plain
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit, ask_under, edits_digest
from schemas.cases import AnyCase

log = logging.getLogger(__name__)


class BatchRegime(Regime):
    """So many edits made at once; the last batch may be smaller."""

    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """A unit a case, named by its batch."""
        return [unit for batch in self._batches(cases) for unit in _batch_units(batch)]

    def _batches(self, cases: Sequence[AnyCase]) -> list[Sequence[AnyCase]]:
        (size,) = self.choice.sizes
        return [cases[start : start + size] for start in range(0, len(cases), size)]

    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Batch by batch: one edit for all its cases, then the cases that are missing."""
        wanted = {unit.key: unit for unit in units}
        for batch in self._batches(context.cases):
            todo = [wanted[u.key] for u in _batch_units(batch) if u.key in wanted]
            if not todo:
                continue
            jobs = [Job(u.key, u.case, missing(u)) for u in todo]
            begun = time.perf_counter()
            try:
                edit = context.editor.edit([case.request for case in batch])
                with edit.on(context.scorer.editable):
                    spent = (time.perf_counter() - begun) / len(batch)  # some methods train when they are put on
                    results = ask_under([edit], context.engine, jobs, edit.rewrite)
                noted = plain(edit.notes)
            except Exception as problem:  # noqa: BLE001 - this batch's fault is its cases' result
                log.warning("a batch of %d edits failed: %s", len(batch), problem)
                results, noted, spent = [JobResult(job, error=case_error(problem)) for job in jobs], {}, 0.0
            for unit, done in zip(todo, results, strict=True):
                yield unit, done._replace(notes={**noted, **done.notes}, seconds_edit=spent)


def _batch_units(batch: Sequence[AnyCase]) -> list[WorkUnit]:
    digest = edits_digest(batch)
    return [WorkUnit(f"{case.key}@{digest}", case, len(batch), n) for n, case in enumerate(batch, 1)]
