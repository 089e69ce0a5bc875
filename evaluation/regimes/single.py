"""``single``: each edit alone, then undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluation.engines.base import Job, JobResult
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit
from schemas.cases import AnyCase


class SingleRegime(Regime):
    """Each edit alone, then undone."""

    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """A unit a case."""
        return [WorkUnit(case.key, case) for case in cases]

    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """All of them through the engine."""
        known = {unit.key: unit for unit in units}
        for done in context.engine.work(context.editor, [Job(u.key, u.case, missing(u)) for u in units]):
            yield known[done.job.key], done
