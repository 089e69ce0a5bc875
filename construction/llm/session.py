"""One sitting with language models: a journal, its budget, clients, and work that ends, stops in good order or goes on.

Everybody who asks a model runs through here: construction, the verifier over a store, the judge, API models.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from construction.llm.client import Client
from construction.llm.connection import Access, StopSignal, open_client, run
from construction.llm.cost.budget import Budget
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from schemas.core.errors import UserError

T = TypeVar("T")


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

    def client(self, access: Access | None = None) -> AbstractAsyncContextManager[Client]:
        """A client of the session's model, or of another one on the same journal and budget.

        Raises:
            UserError: no key, embedded model not installed, endpoint away.
        """
        return open_client(access or self.access, self.journal, budget=self.budget)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work until it ends.

        Raises:
            StoppedEarly: Ctrl-C or SIGTERM; everything that was answered is on record.
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
        journal: The replies on record.
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
