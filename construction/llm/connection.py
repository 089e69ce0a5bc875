"""One opener for everybody who asks a model: construction, its checks by a model, the judge.

Endpoint, journal, budget, prices, batches and models on this machine come together here, so that every caller gets the
same options with the same meaning.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from construction.llm.client import Client
from construction.llm.cost.budget import Budget
from construction.llm.cost.prices import FREE, Price, how_to_add, price_of
from construction.llm.embedded.launcher import CONTEXT, EMBEDDED_CONTEXT, serve
from construction.llm.endpoint import DEFAULT_KEY, Endpoint
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from curation.files.local_models import FORMS, gguf_of, label_of, names_a_file
from curation.files.model_packages import EMBEDDED
from schemas.core.config import Options
from schemas.core.errors import UserError

T = TypeVar("T")


_TIME_LIMIT, _LOCAL_TIME_LIMIT = 120.0, 3600.0  # seconds


class Access(Options):
    """How a model is asked, as the command line's options say it.

    Attributes:
        model: Name at the endpoint, or without an address a model file on this machine: ``embedded`` (of the ``local``
            extra), ``local``, ``gguf:PATH``, ``hf:OWNER/REPOSITORY/FILE``.
        base_url: Address up to ``/v1``.
        key_name: Environment variable with the key.
        concurrency: Calls at once; None for 8, or 1 with a model on this machine.
        rpm, tpm: Requests and tokens a minute at most.
        timeout: Seconds until a call is given up; None for 120, or 3600 with a model on this machine.
        reply_tokens: Tokens of a reply at most, where the request sets no limit.
        max_cost, max_tokens: Budget in US dollars and in tokens, for the whole journal.
        prices: The user's price table.
        batch: Use the Batch API, and look every ``poll`` seconds.
        retry_failed: Ask again what was refused, could not be read or failed for good.
        attempts: Times that a call is made whose reply cannot be used; None for what the work usually takes.
        context: Tokens of prompt and reply together that a model on this machine has room for; None for the default.
        threads: Processor threads of a model on this machine at most; None for 2.
        replay: Ask nobody: the journal has to hold every reply.
    """

    model: str = "embedded"
    base_url: str | None = None
    key_name: str = DEFAULT_KEY
    concurrency: int | None = None
    rpm: float | None = None
    tpm: float | None = None
    timeout: float | None = None
    reply_tokens: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    prices: Path | None = None
    batch: bool = False
    poll: float = 30.0
    retry_failed: bool = False
    context: int | None = None
    threads: int | None = None
    attempts: int | None = None
    replay: bool = False

    @property
    def embedded(self) -> bool:
        """Whether the embedded model is meant."""
        return self.model == EMBEDDED and self.base_url is None

    @property
    def on_this_machine(self) -> bool:
        """Whether the model is a file that is served here, not a model behind an endpoint."""
        return self.base_url is None and names_a_file(self.model)

    @property
    def time_limit(self) -> float:
        """Seconds until a call is given up. What a busy machine has half written is lost then: its models get more."""
        return self.timeout or (_LOCAL_TIME_LIMIT if self.on_this_machine else _TIME_LIMIT)

    @property
    def label(self) -> str:
        """The model's name in records and price tables; of a file, with a digest of its contents.

        Raises:
            ModelError: the file is not on this machine.
        """
        return label_of(self.model) if self.on_this_machine else self.model

    def price(self) -> Price | None:
        """The model's price, or None where it is not listed; a model on this machine costs nothing."""
        if self.on_this_machine:
            return FREE
        return price_of(self.label, batch=self.batch, table=self.prices)

    def check(self) -> None:
        """Refuse what cannot go together, before anything is opened.

        Raises:
            UserError: a limit in dollars without a price, a batch of a model on this machine, or settings of such a
                model for one behind an endpoint.
            ModelError: the model's file is not on this machine.
        """
        if self.max_cost is not None and self.price() is None:
            raise UserError("--max-cost needs a price", fix=how_to_add(self.label))
        if self.on_this_machine:
            gguf_of(self.model)
            if self.batch:
                raise UserError("a model on this machine has no batches", where=self.model, fix="leave --batch out")
            return
        for option in ("context", "threads"):
            if getattr(self, option) is not None:
                raise UserError(f"--{option} is for a model on this machine", where=self.model, allowed=FORMS)

    def budget(self, cache: ReplyCache) -> Budget:
        """The budget over a journal; to be shared by all clients that write to it.

        Raises:
            UserError: as ``check``.
        """
        self.check()
        return Budget(cache, max_cost=self.max_cost, max_tokens=self.max_tokens)


@asynccontextmanager
async def open_client(access: Access, journal: Journal, *, budget: Budget | None = None) -> AsyncIterator[Client]:
    """A client for a model, with everything on record in a journal.

    Args:
        access: How it is asked.
        journal: Open for writing.
        budget: Shared with other clients on the same journal; a new one where left out.

    Raises:
        UserError: no key, no price for a budget in dollars, embedded model not installed.

    Example:
        >>> async def judge(requests, journal):
        ...     async with opened(Access(model="gpt-4.1", max_cost=5.0), journal) as client:
        ...         return await together([client.ask(r) for r in requests])
    """
    cache = ReplyCache(journal, retry_failed=access.retry_failed)
    budget = budget or access.budget(cache)
    with ExitStack() as stack:
        base_url, key_name = access.base_url, access.key_name
        concurrency = access.concurrency or (1 if access.on_this_machine else 8)
        if access.on_this_machine and not access.replay:
            key_name = "SCEDIT_NO_KEY"
            context = access.context or (EMBEDDED_CONTEXT if access.embedded else CONTEXT)
            server = serve(gguf_of(access.model), threads=access.threads or 2, slots=concurrency, context=context)
            base_url = stack.enter_context(server)
        endpoint = Endpoint(
            model=access.label,
            base_url=base_url,
            key_name=key_name,
            concurrency=concurrency,
            rpm=access.rpm,
            tpm=access.tpm,
            timeout=access.time_limit,
            reply_tokens=access.reply_tokens,
            batch=access.batch,
            poll=access.poll,
            attempts=access.attempts or 1,
            replay=access.replay,
        )
        async with Client(endpoint, cache, budget=budget, price=access.price()) as client:
            yield client


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
        StopSignal: a signal came; everything that was answered is on record.
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
