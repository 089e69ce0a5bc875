"""The one runner: work on many items in batches, each stored in one transaction; facts, events and documents share it.

Replies come through the journal, and everything else is a pure function of the items and the replies. So a run that was
killed is started again from the top: it walks through what is cached without asking and puts the same records.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from construction.llm import connection
from construction.llm.cli_options import journal_of
from construction.llm.client import Client, gather_all, ordered_map
from construction.llm.connection import model_session
from construction.llm.cost.budget import Budget
from construction.llm.cost.estimates import CallEstimate
from construction.llm.dry_run import DryRunClient, NoStore, missing_calls
from construction.llm.endpoint import Access
from construction.llm.replies import ATTEMPTS
from construction.llm.reply_cache import ReplyCache
from construction.report.funnel import Funnel
from curation.store.store import Store
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.lineage import Lineage
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine, duration
from schemas.verdicts import Verdict

_EVERY = 30.0  # seconds between lines where they cannot be written over


class ConstructionProgress(NamedTuple):
    """How far it is.

    Attributes:
        done: Facts that are done with, those that only serve as neighbours among them.
        total: All facts.
        kept: Questions that came to a prompt which every check keeps.
        unfinished: Facts that wait for another run, since a call has no answer.
        calls: Calls sent over the network, in the end.
    """

    done: int = 0
    total: int = 0
    kept: int = 0
    unfinished: int = 0
    calls: int = 0


class ProgressDisplay:
    """Shows the progress: written over on a terminal, else a line now and then.

    Args:
        expected: Answers of the whole work, first attempts.
        line: Where to; standard error where left out.
    """

    def __init__(self, expected: int, *, line: StatusLine | None = None) -> None:
        self._expected = expected
        self._line = line or StatusLine(every=_EVERY, at_once=False)
        self._facts: ConstructionProgress | None = None
        self._notes: Callable[[], Iterable[str]] = tuple

    def watch(self, notes: Callable[[], Iterable[str]]) -> None:
        """Ask there what holds calls up, from now on."""
        self._notes = notes

    def facts(self, progress: ConstructionProgress) -> None:
        """Facts were finished."""
        self._facts = progress

    def tick(self, budget: Budget) -> None:
        """Show how things stand, where it is time."""
        self._line.show(lambda: self.text(budget))

    def end(self, budget: Budget) -> None:
        """Show how things stand in the end, where there is something to say."""
        if budget.activity.answers:
            self._line.show(self.text(budget), last=True)

    def text(self, budget: Budget) -> str:
        """The line."""
        return ", ".join(self._parts(budget))

    def _parts(self, budget: Budget) -> Iterator[str]:
        now = budget.activity
        yield from self._notes()  # first, since a terminal cuts off the end
        if self._facts is not None:
            yield f"{self._facts.done:,}/{counted(self._facts.total, 'fact')}"
            yield f"{counted(self._facts.kept, 'question')} kept"
        expected = max(self._expected, now.answers)
        yield f"{now.answers:,} of about {counted(expected, 'answer')}"
        rate = now.rate()
        if rate:
            yield f"{rate:,.0f} calls/min"
        yield budget.sentence()
        if rate and now.answers < expected:
            yield f"{duration(60.0 * (expected - now.answers) / rate)} left"
        if now.failed:
            yield f"{now.failed:,} failed"
        if now.waiting:
            yield f"{now.waiting:,} waiting to be asked again"
        if now.repeated:
            yield f"{now.repeated:,} asked again after a passing fault"


logger = logging.getLogger(__name__)

R = TypeVar("R")
AHEAD = 2  # batches in the making beyond the one that is stored next
TICK_SECONDS = 1.0


async def run_in_batches(
    work: Sequence[Callable[[], Coroutine[Any, Any, R]]],
    keep: Callable[[list[R]], None],
    *,
    size: int,
    ahead: int = AHEAD,
) -> None:
    """Do all of some work, and keep what comes of it batch by batch, in order.

    Args:
        work: Makes the coroutines, each when its turn comes.
        keep: Takes what a batch came to, while later ones are in the making.
        size: How many are kept together.
        ahead: Batches in the making beyond the one that is kept next.
    """

    async def make(part: Sequence[Callable[[], Coroutine[Any, Any, R]]]) -> list[R]:
        return await gather_all([one() for one in part])

    parts = [work[start : start + size] for start in range(0, len(work), size)]
    making = ordered_map([partial(make, part) for part in parts], ahead=ahead)
    async with aclosing(making):
        async for made in making:
            keep(made)


class Outcome(NamedTuple):
    """What became of an event or a document.

    Attributes:
        item: The event or the document itself.
        written: What was written about it, each with what is said of it; the item itself among them where it is judged.
        lineage: Of all of these.
        losses: Stage and reason of what was lost and leaves no record.
        unfinished: Calls without an answer; then nothing is stored, and a later run finishes it.
    """

    item: Record
    written: tuple[tuple[Record, tuple[Verdict, ...]], ...] = ()
    lineage: tuple[Lineage, ...] = ()
    losses: tuple[tuple[str, str], ...] = ()
    unfinished: int = 0


def store_outcomes(store: Any, funnel: Funnel, outcomes: Sequence[Outcome]) -> None:
    """Put some outcomes into the store in one transaction; what waits for an answer comes later, and is counted."""
    records: list[Record] = []
    lineage: list[Lineage] = []
    finished = [one for one in outcomes if not one.unfinished]
    for one in outcomes:
        funnel.n["unfinished"] += one.unfinished
        if one.unfinished:
            logger.warning("%s is not finished: no answer came", one.item.key)
    for one in finished:
        for stage, reason in one.losses:
            funnel.lose(stage, reason)
        records += [] if any(record is one.item for record, _ in one.written) else [one.item]
        for record, verdicts in one.written:
            records += [record, *verdicts]
        lineage += one.lineage
    if records:
        store.put(records, lineage, remade=[one.item.key for one in finished])


class WritingJob(Options):
    """Where a job that has a model write records reads and writes, and which model it asks.

    Attributes:
        store: The DuckDB file; made if absent.
        access: The model and how it is asked.
        profile: Prompts to use; None for those of the model.
        prompts_path: A folder of prompts in their place.
        licence: Of what states none.
        journal_path: The cached replies; None for ``STORE.llm.jsonl``.
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
        """The cached replies."""
        return self.journal_path or journal_of(self.store)

    @property
    def attempts(self) -> int:
        """Times that a call is made whose reply cannot be used; of all models."""
        return self.access.attempts or ATTEMPTS

    @property
    def batch(self) -> int:
        """Records whose calls are under way together: all for the Batch API, few for a model on this machine."""
        return 1_000_000 if self.access.batch else 2 if self.access.on_this_machine else 20


class PreparedWork(Generic[R]):
    """A construction whose sources are read; nothing is asked or written yet.

    Args:
        job: What is to be written, and where.
        others: Further models that are asked.

    Attributes:
        asks: Whether a model is asked at all.
    """

    asks = True

    def __init__(self, job: WritingJob, others: Sequence[Access] = ()) -> None:
        self.job, self.others = job, tuple(others)

    async def construct(self, store: Store, clients: Sequence[Client], live: ProgressDisplay) -> R:
        """Do all of it.

        Args:
            store: Open for writing.
            clients: One for the job's model, and one for each further one.
            live: Shows the progress.

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        raise NotImplementedError

    def check(self, store: Store, cache: ReplyCache) -> None:
        """Look at store and journal before any model is asked."""

    def run(self, *, live: ProgressDisplay) -> R:
        """Construct; on any error what is finished stays in journal and store, and the embedded model is stopped.

        A further model that is asked as the job's model shares its client.

        Args:
            live: Shows the progress; it ends with the work.

        Raises:
            UserError: store or journal in use, no key, endpoint away, embedded model not installed.
            BudgetReached: the next call does not fit the budget.
            StoppedEarly: Ctrl-C or SIGTERM.
        """
        job = self.job
        if not self.asks:
            nobody = DryRunClient("", ReplyCache(None), attempts=1)
            with Store.open(job.store, create=True) as store:
                return connection.run(self.construct(store, [nobody], live))
        with (
            model_session(job.journal, job.access, fsync=job.fsync) as session,
            Store.open(job.store, create=True) as store,
        ):
            self.check(store, ReplyCache(session.journal))
            attempts = {"attempts": job.attempts}

            async def watched() -> R:
                known: list[tuple[Access, Client]] = []
                clients = []
                async with AsyncExitStack() as stack:
                    for access in (job.access, *self.others):
                        client = next((c for a, c in known if a == access), None)
                        if client is None:
                            opening = session.client(access.model_copy(update=attempts))
                            client = await stack.enter_async_context(opening)
                            known.append((access, client))
                        clients.append(client)
                    live.watch(lambda: filter(None, [client.held_up for _, client in known]))
                    ticking = asyncio.create_task(_tick(live, session.budget))
                    try:
                        return await self.construct(store, clients, live)
                    finally:
                        ticking.cancel()

            try:
                return session.run(watched())
            finally:
                live.end(session.budget)


async def _tick(live: ProgressDisplay, budget: Budget) -> None:
    """Bring the display up to date every second, until it is cancelled."""
    while True:
        await asyncio.sleep(TICK_SECONDS)
        live.tick(budget)


class CountedWork(PreparedWork[Funnel]):
    """A construction of events or of probes, whose funnel is counted.

    Args:
        job: What is to be written, and where.
        funnel: Counts what was lost so far and leaves no record.
        others: Further models that are asked.
    """

    def __init__(self, job: WritingJob, funnel: Funnel, others: Sequence[Access] = ()) -> None:
        super().__init__(job, others)
        self.funnel = funnel

    async def write(self, store: Store | NoStore, clients: Sequence[Client], funnel: Funnel) -> None:
        """Write all of it, and count what is lost and leaves no record."""
        raise NotImplementedError

    def estimate(self) -> CallEstimate:
        """What it will ask: calls that are not cached; of what nobody wrote yet, no check drops anything."""
        if not self.asks:
            return CallEstimate(0, 0, 0, None)
        work = partial(self.write, NoStore(), funnel=type(self.funnel)())
        accesses = (self.job.access, *self.others)
        return missing_calls(self.job.journal, accesses, work, attempts=self.job.attempts)

    async def construct(self, store: Store, clients: Sequence[Client], live: ProgressDisplay) -> Funnel:
        """Do all of it; the funnel of the store, all runs together."""
        await self.write(store, clients, self.funnel)
        self.funnel.count(store, calls=sum(client.calls for client in set(clients)))
        return self.funnel
