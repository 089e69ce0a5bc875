"""``revert`` and ``reedit``: a fact edited, edited back, and edited again, in a model of its own.

Is the old answer back, and is anything left (after 2604.05995, which asks for residues of recursive edits)?
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from evaluation.engines.base import Job, JobResult, case_error, plain
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit, ask_under
from evaluation.regimes.edit_chain import EditChain
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.core.ids import content_id
from schemas.facts import Fact

log = logging.getLogger(__name__)


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

    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Case by case."""
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
                log.warning("the chain of edits of %s failed: %s", unit.case.key, problem)
                done = JobResult(job, error=case_error(problem))
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
