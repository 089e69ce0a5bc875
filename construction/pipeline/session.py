"""One construction from the outside: journal, model, store, run; what is shown meanwhile and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from construction.authoring.tally import ConstructionCounts
from construction.llm.cli_options import journal_of
from construction.llm.connection import Access
from construction.llm.cost.budget import Budget
from construction.llm.reply_cache import ReplyCache
from construction.llm.session import ModelSession, model_session
from construction.pipeline.author_models import ScriptAuthor, open_authors
from construction.pipeline.cost_estimate import models_of
from construction.pipeline.generations import earlier_generations, refuse_second_generation
from construction.pipeline.pipeline import Construction, ConstructionPlan, ConstructionProgress, ConstructionWork
from construction.pipeline.progress import ProgressDisplay
from curation.store.backup import snapshot
from curation.store.store import Store
from schemas.core.config import Options

R = TypeVar("R")
SNAPSHOT_SECONDS = 30.0
TICK_SECONDS = 1.0


class WritingJob(Options):
    """Where a job that has a model write records for one kind of edit reads and writes, and which model it asks.

    Attributes:
        store: The DuckDB file; made if absent.
        access: The model and how it is asked.
        profile: Prompts to use; None for those of the model.
        prompts_path: A folder of prompts in their place.
        licence: Of what states none.
        journal_path: The replies on record; None for ``STORE.llm.jsonl``.
        fsync: Force every reply to the disk.
    """

    store: Path
    access: Access
    profile: str | None = None
    prompts_path: Path | None = None
    licence: str = "not stated"
    journal_path: Path | None = None
    fsync: bool = False

    @property
    def journal(self) -> Path:
        """The replies on record."""
        return self.journal_path or journal_of(self.store)

    @property
    def batch(self) -> int:
        """Records whose calls are under way together: all for the Batch API, few for a model on this machine."""
        return 1_000_000 if self.access.batch else 2 if self.access.on_this_machine else 20


def run_job(
    job: WritingJob, work: Callable[[ModelSession, Store], Coroutine[Any, Any, R]], *, live: ProgressDisplay
) -> R:
    """Run a job's work with its model, journal and store; on any error what is finished stays in both.

    Args:
        job: What is to be written, and where.
        work: The work, of an open session and store.
        live: Shows the progress; it ends with the work.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
        BudgetReached: the next call does not fit the budget.
        StoppedEarly: Ctrl-C or SIGTERM.
    """
    with (
        model_session(job.journal, job.access, fsync=job.fsync) as session,
        Store.open(job.store, create=True) as store,
    ):
        session = session.with_attempts()
        try:
            return session.run(work(session, store))
        finally:
            live.end(session.budget)


class Session(Options):
    """Where a construction reads and writes, and which model it asks.

    Attributes:
        store: The DuckDB file; made if absent.
        journal: The replies on record; made if absent.
        access: The model and how it is asked.
        authors: Who writes the scripts; the model of ``access`` where left out.
        reader: Who reads what the checks let pass, where somebody should.
        fsync: Force every reply to the disk.
        snapshot: Copy of the store, renewed by the writer as it works; readers look at it instead of the locked store.
    """

    store: Path
    journal: Path
    access: Access
    authors: tuple[ScriptAuthor, ...] = ()
    reader: ScriptAuthor | None = None
    fsync: bool = False
    snapshot: Path | None = None


def run(
    session: Session, work: ConstructionWork, plan: ConstructionPlan, *, origin: str, live: ProgressDisplay
) -> ConstructionCounts:
    """Construct; on any error what is finished stays in journal and store, and the embedded model is stopped.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed, or questions or scripts
            of another model, prompt or number stand in the store and nobody said what becomes of them.
        BudgetReached: the next call does not fit the budget.
        StoppedEarly: Ctrl-C or SIGTERM.
    """
    with (
        model_session(session.journal, session.access, fsync=session.fsync) as models,
        Store.open(session.store, create=True) as store,
    ):
        session, models = _with_attempts(session, models)
        if plan.generation is None:
            models_asked = models_of(
                plan, plan.wording(), session.access.label, authors=session.authors, reader=session.reader
            )
            earlier = earlier_generations(store, work, plan, models_asked, ReplyCache(models.journal))
            refuse_second_generation(earlier, where=str(session.store))
        on_progress = _with_snapshots(store, session.snapshot, live.facts) if session.snapshot else live.facts
        try:
            result = models.run(_construct(session, models, live, store, work, plan, origin, on_progress))
        finally:
            live.end(models.budget)
        if session.snapshot:
            snapshot(store, session.snapshot)
        return result


def _with_attempts(session: Session, models: ModelSession) -> tuple[Session, ModelSession]:
    """Both with the number of attempts at a call, which stays that of their journal."""
    models = models.with_attempts()

    def bounded(access: Access) -> Access:
        return access.model_copy(update={"attempts": models.access.attempts})

    authors = tuple(a._replace(access=bounded(a.access)) for a in session.authors)
    reader = session.reader and session.reader._replace(access=bounded(session.reader.access))
    session = session.model_copy(update={"access": models.access, "authors": authors, "reader": reader})
    return session, models


async def _construct(
    session: Session,
    models: ModelSession,
    live: ProgressDisplay,
    store: Store,
    work: ConstructionWork,
    plan: ConstructionPlan,
    origin: str,
    on_progress: Callable[[ConstructionProgress], None],
) -> ConstructionCounts:
    named = [*session.authors, *([session.reader] if session.reader else [])]
    async with (
        models.client() as client,
        open_authors(named, models, client) as clients,
    ):
        authors, reader = clients[: len(session.authors)], next(iter(clients[len(session.authors) :]), None)
        clients_asked = list({id(c): c for c in (client, *(a.client for a in clients))}.values())
        run_ = Construction(store, client, plan, origin=origin, authors=authors, reader=reader, progress=on_progress)
        live.watch(lambda: [c.progress for c in clients_asked], lambda: run_.answered)
        live.facts(ConstructionProgress(0, len(work.edits) + len(work.others), 0, 0))
        ticking = asyncio.create_task(tick_display(live, models.budget))
        try:
            return await run_(work)
        finally:
            ticking.cancel()


async def tick_display(live: ProgressDisplay, budget: Budget) -> None:
    """Bring the display up to date every second, until it is cancelled."""
    while True:
        await asyncio.sleep(TICK_SECONDS)
        live.tick(budget)


def _with_snapshots(
    store: Store, path: Path, progress: Callable[[ConstructionProgress], None]
) -> Callable[[ConstructionProgress], None]:
    """Progress that also renews the snapshot, at most twice a minute; it is told between two transactions."""
    last = float("-inf")

    def tell(now: ConstructionProgress) -> None:
        nonlocal last
        progress(now)
        if time.monotonic() - last > SNAPSHOT_SECONDS:
            snapshot(store, path)
            last = time.monotonic()

    return tell
