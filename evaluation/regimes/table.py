"""Regimes by name; single edits, batches, and edits that are taken back. The sequence has a file of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from typing_extensions import override

from evaluation.engines.base import Job, JobResult, plain
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit, ask_under, edits_digest
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.edit_chain import EditChain
from evaluation.regimes.sequential import SequentialRegime
from schemas.cases import AnyCase
from schemas.core.errors import UserError, one_line
from schemas.core.ids import content_id
from schemas.facts import Fact
from schemas.text.counting import counted

log = logging.getLogger(__name__)


class SingleRegime(Regime):
    """Each edit alone, then undone."""

    @override
    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        return [WorkUnit(case.key, case) for case in cases]

    @override
    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        known = {unit.key: unit for unit in units}
        for done in context.engine.work(context.editor, [Job(u.key, u.case, missing(u)) for u in units]):
            yield known[done.job.key], done


class BatchRegime(Regime):
    """So many edits made at once; the last batch may be smaller."""

    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """A unit a case, named by its batch."""
        return [unit for batch in self.choice.groups(cases) for unit in _batch_units(batch)]

    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Batch by batch: one edit for all its cases, then the cases that are missing."""
        wanted = {unit.key: unit for unit in units}
        for batch in self.choice.groups(context.cases):
            todo = [wanted[u.key] for u in _batch_units(batch) if u.key in wanted]
            if not todo:
                continue
            jobs = [Job(u.key, u.case, missing(u)) for u in todo]
            context.engine.on_stage(f"editing {counted(len(batch), 'case')} at once, then scoring them", 0.0)
            begun = time.perf_counter()
            try:
                edit = context.editor.edit([case.request for case in batch])
                with edit.on(context.scorer.editable):
                    spent = (time.perf_counter() - begun) / len(batch)  # some methods train when they are applied
                    results = ask_under([edit], context.engine, jobs, edit.rewrite)
                noted = plain(edit.notes)
            except Exception as problem:  # noqa: BLE001 - this batch's fault is its cases' result
                error = one_line(problem)
                log.warning("a batch of %d edits failed: %s", len(batch), error)
                results, noted, spent = [JobResult(job, error=error) for job in jobs], {}, 0.0
            for unit, done in zip(todo, results, strict=True):
                yield unit, done._replace(notes={**noted, **done.notes}, seconds_edit=spent)


def _batch_units(batch: Sequence[AnyCase]) -> list[WorkUnit]:
    digest = edits_digest(batch)
    return [WorkUnit(f"{case.key}@{digest}", case, len(batch), n) for n, case in enumerate(batch, 1)]


class RevertRegime(Regime):
    """Each case alone: its edit, the edit back to the old object, and (``reedit``) its edit once more; then undone."""

    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """A unit a case, named by its chain of edits."""
        return [self._unit(case) for case in cases]

    def _unit(self, case: AnyCase) -> WorkUnit:
        chain = self.chain(case)
        key = f"{case.key}@{content_id('edits', [fact.id for fact in chain])}"
        return WorkUnit(key, case, len(chain), len(chain))

    def chain(self, case: AnyCase) -> list[Fact]:
        """The requests in order.

        Raises:
            UserError: the case edits no fact with an old and a new object.
        """
        there, back = case.request, reverted(case)
        assert isinstance(there, Fact)
        return [there, back] if self.choice.name == "revert" else [there, back, there]

    @override
    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        for unit in units:
            job = Job(unit.key, unit.case, missing(unit))
            begun = time.perf_counter()
            try:
                with ExitStack() as stack:
                    chain = EditChain(context.scorer, stack)
                    noted = [plain(chain.add(context.editor, fact).notes) for fact in self.chain(unit.case)]
                    spent = time.perf_counter() - begun
                    (done,) = ask_under(chain.edits, context.engine, [job], chain.rewrite)
                done = done._replace(notes={**noted[-1], **done.notes}, seconds_edit=spent)
            except Exception as problem:  # noqa: BLE001 - this case's fault is its own result
                error = one_line(problem)
                log.warning("the chain of edits of %s failed: %s", unit.case.key, error)
                done = JobResult(job, error=error)
            yield unit, done


def reverted(case: AnyCase) -> Fact:
    """The edit that takes a case's edit back: the same fact with its objects changed over.

    Raises:
        UserError: the case edits no fact.
    """
    fact = case.request
    if not isinstance(fact, Fact):
        raise UserError(
            "only facts can be edited back: an event or a document has no old object",
            where=case.key,
            fix="use regime = 'single', 'batch' or 'sequential'",
        )
    data = fact.model_dump(mode="json")
    return Fact.model_validate({**data, "old": data["new"], "new": data["old"]})


REGIMES: dict[str, type[Regime]] = {
    "single": SingleRegime,
    "batch": BatchRegime,
    "sequential": SequentialRegime,
    "revert": RevertRegime,
    "reedit": RevertRegime,
}


def make_regime(choice: RegimeChoice) -> Regime:
    """The regime of a choice."""
    return REGIMES[choice.name](choice)
