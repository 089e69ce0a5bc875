"""One opener for everybody who asks a model: construction, its checks by a model, the judge.

Endpoint, journal, budget, prices, batches and models on this machine come together here, so that every caller gets the
same options with the same meaning.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from construction.llm.client import Client
from construction.llm.cost.budget import Budget
from construction.llm.embedded.launcher import CONTEXT, EMBEDDED_CONTEXT, serve
from construction.llm.endpoint import KEYLESS, Access
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from curation.files.local_models import gguf_of
from schemas.core.errors import UserError

T = TypeVar("T")


class StopSignal(KeyboardInterrupt):
    """The person, or the system, asked us to stop; calls in flight were let go.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work until it ends, or until Ctrl-C or SIGTERM stops it in good order.

    Where a loop runs already, as in a notebook, the work gets a thread with a loop of its own.

    Raises:
        StopSignal: a signal came; everything that was answered is cached.
    """
    caught: list[int] = []
    stops: list[Callable[[int], object]] = []

    async def watched() -> T:
        task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()

        def stop(number: int) -> None:
            caught.append(number)
            task.cancel()

        stops.append(lambda number: loop.call_soon_threadsafe(stop, number))
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop, number)
        return await task

    try:
        if not _loop_runs():
            return asyncio.run(watched())
        with ThreadPoolExecutor(1) as thread:
            result = thread.submit(lambda: asyncio.run(watched()))
            try:
                return result.result()
            except KeyboardInterrupt:
                for stop in stops:
                    stop(signal.SIGINT)
                return result.result()
    except asyncio.CancelledError:
        if not caught:
            raise
        raise StopSignal(caught[0]) from None


def _loop_runs() -> bool:
    """Whether this thread runs a loop, as that of a notebook does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class StoppedEarly(UserError):
    """A person or the system stopped the work; it goes on with the same command.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int, spent: str, *, batch: bool) -> None:
        self.number = number
        self.exit_status = 128 + number
        rest = "; open batches go on at the endpoint and are collected then" if batch else ""
        super().__init__(f"stopped: {spent}, finished work is kept", fix=f"give the same command again to resume{rest}")


class ModelSession(NamedTuple):
    """An open journal with one budget for everybody who writes to it.

    Attributes:
        access: The model and how it is asked.
        journal: Open for writing.
        budget: What was spent, against the limits of ``access``.
    """

    access: Access
    journal: Journal
    budget: Budget

    @asynccontextmanager
    async def client(self, access: Access | None = None) -> AsyncIterator[Client]:
        """A client of the session's model, or of another one on the same journal and budget.

        Raises:
            UserError: no key, embedded model not installed, endpoint away.
        """
        access = access or self.access
        cache, here = ReplyCache(self.journal, retry_failed=access.retry_failed), access.on_this_machine
        base_url, key_name = access.base_url, access.key_name
        concurrency = access.concurrency or (1 if here else 8)
        with ExitStack() as stack:
            if here and not access.replay:
                key_name = KEYLESS
                context = access.context or (EMBEDDED_CONTEXT if access.embedded else CONTEXT)
                server = serve(gguf_of(access.model), threads=access.threads or 2, slots=concurrency, context=context)
                base_url = stack.enter_context(server)
            resolved = {"model": access.label, "base_url": base_url, "key_name": key_name, "concurrency": concurrency}
            endpoint = access.model_copy(update={**resolved, "timeout": access.time_limit})
            asking = Client(endpoint, cache, budget=self.budget, price=access.price(), served_here=here)
            async with asking as client:
                yield client

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work until it ends.

        Raises:
            StoppedEarly: Ctrl-C or SIGTERM; everything that was answered is cached.
            BudgetReached: the next call does not fit the budget.
            ModelError: the endpoint does not work.
        """
        try:
            return run(work)
        except StopSignal as stopped:
            raise StoppedEarly(stopped.number, self.budget.sentence(), batch=self.access.batch) from None


@contextmanager
def model_session(journal: Path, access: Access, *, fsync: bool = False) -> Iterator[ModelSession]:
    """Open a session; the journal is made if absent, and closed at the end.

    Args:
        journal: The cached replies.
        access: The model and how it is asked.
        fsync: Force every reply to the disk.

    Raises:
        UserError: the journal is in use, or a limit in dollars without a price.

    Example:
        >>> def ask(requests, journal):
        ...     async def work(session):
        ...         async with session.client() as client:
        ...             return [await client.ask(r) for r in requests]
        ...
        ...     with model_session(journal, Access(model="gpt-4.1", max_cost=5.0)) as session:
        ...         return session.run(work(session))
    """
    with Journal(journal, write=True, fsync=fsync) as replies:
        yield ModelSession(access, replies, access.budget(ReplyCache(replies)))
