"""One construction from the outside: journal, model, store, run; what is shown meanwhile and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from construction.authoring.tally import Yield
from construction.llm import connection as access
from construction.llm.client import Client
from construction.llm.connection import Access, Stopped, opened
from construction.llm.cost.budget import Budget
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.author_models import ScriptAuthor, hired
from construction.pipeline.pipeline import Plan, Progress, Run, Work
from construction.pipeline.progress import Live
from curation.files.journal import Journal
from curation.store.backup import snapshot
from curation.store.store import Store
from schemas.core.config import Options
from schemas.core.errors import UserError

SNAPSHOT_SECONDS = 30.0
TICK_SECONDS = 1.0


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


class StoppedEarly(UserError):
    """A person or the system stopped a construction; it goes on with the same command.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int, spent: str, *, batch: bool) -> None:
        self.number = number
        there = "; open batches go on at the endpoint and are collected then" if batch else ""
        super().__init__(f"stopped: {spent}, finished work is kept", fix=f"give the same command again to go on{there}")


def run(session: Session, work: Work, plan: Plan, *, origin: str, live: Live) -> Yield:
    """Construct; on any error what is finished stays in journal and store, and the embedded model is stopped.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
        BudgetReached: the next call does not fit the budget.
        StoppedEarly: Ctrl-C or SIGTERM.
    """
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(session.journal, write=True, fsync=session.fsync))
        store = stack.enter_context(Store.open(session.store, create=True))
        budget = session.access.budget(ReplyCache(journal))
        told = _copying(store, session.snapshot, live.facts) if session.snapshot else live.facts
        try:
            result = access.run(_asked(session, journal, budget, live, store, work, plan, origin, told))
        except Stopped as stopped:
            raise StoppedEarly(stopped.number, budget.sentence(), batch=session.access.batch) from None
        finally:
            live.end(budget)
        if session.snapshot:
            snapshot(store, session.snapshot)
        return result


async def _asked(
    session: Session,
    journal: Journal,
    budget: Budget,
    live: Live,
    store: Store,
    work: Work,
    plan: Plan,
    origin: str,
    told: Callable[[Progress], None],
) -> Yield:
    named = [*session.authors, *([session.reader] if session.reader else [])]
    async with (
        opened(session.access, journal, budget=budget) as client,
        hired(named, journal, client, session.access, budget=budget) as clients,
    ):
        authors, reader = clients[: len(session.authors)], next(iter(clients[len(session.authors) :]), None)
        ticking = asyncio.create_task(_tick(live, client))
        try:
            run_ = Run(store, client, plan, origin=origin, authors=authors, reader=reader, progress=told)
            return await run_(work)
        finally:
            ticking.cancel()


async def _tick(live: Live, client: Client) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        live.tick(client.budget, client.status)


def _copying(store: Store, path: Path, progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Progress that also renews the snapshot, at most twice a minute; it is told between two transactions."""
    last = float("-inf")

    def tell(now: Progress) -> None:
        nonlocal last
        progress(now)
        if time.monotonic() - last > SNAPSHOT_SECONDS:
            snapshot(store, path)
            last = time.monotonic()

    return tell
