"""A dry run over a journal: cached replies are read, calls that are missing are counted and not made.

So it counts the calls that the command would make now: none of a finished store, the rest of a stopped one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from construction.llm import connection
from construction.llm.call_errors import CallError
from construction.llm.client import Client, Reply
from construction.llm.cost.budget import Budget
from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN, CallCounter, CallEstimate, sum_estimates
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.llm.step import Request
from construction.llm.transport.live import Transport
from curation.files.journal import Journal
from schemas.verdicts import Verdict


class _NotCached(Exception):
    """A call that would be made."""


class DryRunClient(Client):
    """Answers from the journal; a call that is not there is counted, and answered as a good model would.

    Args:
        model: Name of the model, part of a call's key.
        cache: Cached replies.
        attempts: Times that a call is made whose reply cannot be used.

    Attributes:
        missing: Counts what is not cached.
        answers: Requests of the whole work, cached ones among them.
    """

    def __init__(self, model: str, cache: ReplyCache, *, attempts: int) -> None:
        self.endpoint = Access(model=model, attempts=attempts)
        self.budget = Budget(cache)
        self._cache, self.missing, self.answers = cache, CallCounter(), 0
        self._wire = Transport()  # which sends nothing
        self._served_here = True  # who answered was said when it was asked

    @property
    def address(self) -> str:
        """Nobody is asked."""
        return ""

    async def ask(self, request: Request) -> Reply:
        """The cached reply; else one as it may be, and the call is counted."""
        self.answers += 1
        try:
            return await super().ask(request)
        except _NotCached:
            value = request.usual()
            characters = len(value.model_dump_json()) if value is not None else 0
            self.missing.add(request.messages, reply_tokens=characters // CHARACTERS_PER_TOKEN)
        key = request_key(self.endpoint.model, request)
        return Reply("ok" if value else "unanswered", value, "", "", key, None, None, "", 0)

    async def _recorded(self, key: str, request: Request) -> tuple[StoredOutcome | CallError, int]:
        stored = self._cache.get(key)
        if stored is None:
            raise _NotCached
        return stored, 0


class NoStore:
    """Takes what a dry run would store, and keeps nothing."""

    def put(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    def verdicts(self, *_: object) -> list[Verdict]:
        """None."""
        return []


def dry_run(
    accesses: Iterable[Access],
    work: Callable[[list[DryRunClient]], Coroutine[Any, Any, Any]],
    cache: ReplyCache,
    *,
    attempts: int,
) -> list[DryRunClient]:
    """Do work with clients that ask nobody, one for each model; each holds what it would ask.

    Args:
        accesses: The models.
        work: The work.
        cache: The journal's replies.
        attempts: Times that a call is made whose reply cannot be used.
    """
    clients = [DryRunClient(access.label, cache, attempts=attempts) for access in accesses]
    connection.run(work(clients))
    return clients


@contextmanager
def recorded_replies(journal: Path, access: Access) -> Iterator[ReplyCache]:
    """The replies of a journal, to be read, without damaged ones; of none where there is no journal yet."""
    if not journal.exists():
        yield ReplyCache(None)
        return
    with Journal(journal, skip_damaged=True) as opened:
        yield ReplyCache(opened, retry_failed=access.retry_failed)


def missing_calls(
    journal: Path,
    accesses: Sequence[Access],
    work: Callable[[list[DryRunClient]], Coroutine[Any, Any, Any]],
    *,
    attempts: int,
) -> CallEstimate:
    """Calls, tokens and dollars that work still takes, of all models together.

    Args:
        journal: The cached replies; it need not exist.
        accesses: The models; the first one says what is retried.
        work: The work.
        attempts: Times that a call is made whose reply cannot be used.
    """
    with recorded_replies(journal, accesses[0]) as cache:
        clients = dry_run(accesses, work, cache, attempts=attempts)
    return sum_estimates(
        client.missing.estimate(access.price()) for client, access in zip(clients, accesses, strict=True)
    )
