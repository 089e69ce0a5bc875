"""Ask an OpenAI-compatible endpoint: limited concurrency, journaled replies, retries, one round of repair.

The ``openai`` package is the only way out. It is told not to retry by itself, because only we know the journal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import openai
from pydantic import BaseModel

from construction.llm.cache import ReplyCache, Stored, request_key
from construction.llm.faults import Fault, fatal_error, pause, sort_fault, unreachable
from construction.llm.replies import now, outcome_of, read, repair
from construction.llm.step import Request
from schemas.config import Options
from schemas.errors import ModelError

logger = logging.getLogger(__name__)

_NO_KEY = "none"  # the openai package insists on one
_GIVE_UP = 5  # calls in a row without any answer: the endpoint is gone
T = TypeVar("T")

DEFAULT_KEY = "OPENAI_API_KEY"


class Endpoint(Options):
    """Where and how to ask.

    Attributes:
        model: Name of the model as the endpoint knows it.
        base_url: Address up to ``/v1``; None for the ``openai`` package's own default.
        key_name: Environment variable that holds the key. Its value is read when needed, and never kept or shown.
        concurrency: Calls in flight at once.
        tries: Attempts of one call, the first included, while the endpoint is known to work.
        timeout: Seconds until an attempt is given up.
        backoff: Seconds before the second attempt; doubles from then on.
        repairs: Rounds in which a reply that does not fit its type is shown its error.
    """

    model: str
    base_url: str | None = None
    key_name: str = DEFAULT_KEY
    concurrency: int = 8
    tries: int = 6
    timeout: float = 120.0
    backoff: float = 1.0
    repairs: int = 1


class Reply(NamedTuple):
    """The outcome of a request, after repair.

    Attributes:
        status: ``ok``, ``refused``, ``unparseable``, ``permanent``, or ``unanswered`` (nothing is on record: ask again
            another time).
        value: The parsed reply where ``ok``.
        raw: Text of the last reply.
        message: Why it is not ``ok``.
        request: Journal key of the last call.
        asked: Calls that went over the network now; 0 when all was on record.
    """

    status: Literal["ok", "refused", "unparseable", "permanent", "unanswered"]
    value: BaseModel | None
    raw: str
    message: str
    request: str
    tokens_in: int | None
    tokens_out: int | None
    at: str
    asked: int


class Client:
    """Asks requests; use as an asynchronous context manager.

    Args:
        endpoint: Where and how.
        cache: Replies on record.

    Raises:
        ModelError: no key where one is needed; when asking, a wrong key, an unknown model, or an endpoint that is away.
    """

    def __init__(self, endpoint: Endpoint, cache: ReplyCache) -> None:
        self.endpoint, self._cache = endpoint, cache
        self._openai = openai.AsyncOpenAI(
            api_key=_key(endpoint), base_url=endpoint.base_url, max_retries=0, timeout=endpoint.timeout
        )
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._busy: dict[str, asyncio.Lock] = {}
        self._jitter = random.Random()
        self._silent = 0
        self._answered = False
        self.calls = 0

    @property
    def address(self) -> str:
        """The endpoint's address without user name, key or query."""
        parts = urlsplit(str(self._openai.base_url))
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}".rstrip(
            "/"
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._openai.close()

    async def ask(self, request: Request) -> Reply:
        """The reply to a request: from the journal if it is there, else from the endpoint.

        A reply that does not fit its type is sent back with the error, ``repairs`` times. Every round is a call of its
        own with a journal key of its own, so a resumed run walks the same rounds without asking.
        """
        asked, tokens = 0, [0, 0]
        known = False
        for attempt in range(self.endpoint.repairs + 1):
            key = request_key(self.endpoint.model, request)
            result, fresh = await self._recorded(key, request)
            asked += fresh
            if isinstance(result, Fault):
                return Reply("unanswered", None, "", result.message, key, None, None, "", asked)
            outcome = result
            for n, count in enumerate((outcome.tokens_in, outcome.tokens_out)):
                tokens[n] += count or 0
                known |= count is not None
            status, value, message = read(outcome, request.reply)
            if status != "unparseable" or attempt == self.endpoint.repairs:
                break
            request = repair(request, outcome.raw, message)
        total = tokens if known else [None, None]
        return Reply(status, value, outcome.raw, message, key, total[0], total[1], outcome.at, asked)

    async def _recorded(self, key: str, request: Request) -> tuple[Stored | Fault, int]:
        """What is on record for a call, asking when nothing is; two equal calls at once become one."""
        with self._alone(key) as lock:
            async with lock:
                stored = self._cache.get(key)
                if stored is not None:
                    return stored, 0
                outcome = await self._call(request)
                if isinstance(outcome, Stored) and (outcome.kind == "reply" or self._answered):
                    self._cache.put(key, outcome)
                return outcome, 1

    @contextmanager
    def _alone(self, key: str) -> Iterator[asyncio.Lock]:
        lock = self._busy.setdefault(key, asyncio.Lock())
        yield lock
        if not lock.locked():
            self._busy.pop(key, None)

    async def _call(self, request: Request) -> Stored | Fault:
        """Ask, and ask again after transient faults."""
        fault = Fault("transient", "not asked")
        limit = self.endpoint.tries
        for attempt in range(limit):
            async with self._slots:
                outcome = await self._attempt(request)
            if isinstance(outcome, Stored):
                self._silent, self._answered = 0, True
                return outcome
            fault = outcome
            if fault.kind == "fatal":
                raise self._fatal(fault)
            if fault.kind == "refused":
                return Stored(kind="refused", message=fault.message, at=now())
            if fault.kind == "permanent":
                return self._permanent(fault)
            if not self._answered:  # never heard of it yet: a wrong address should be told soon
                limit = min(limit, 3)
            if attempt + 1 >= limit:
                break
            wait = pause(attempt, asked=fault.wait, base=self.endpoint.backoff, jitter=self._jitter)
            logger.info("%s; asking again in %.1f s", fault.message, wait)
            await asyncio.sleep(wait)
        self._silent += 1
        if not self._answered or self._silent >= _GIVE_UP:
            raise unreachable(fault, endpoint=self.address, tries=limit)
        return fault

    def _permanent(self, fault: Fault) -> Stored:
        self._silent += 1
        if not self._answered and self._silent >= _GIVE_UP:
            raise self._fatal(fault)
        return Stored(kind="permanent", message=fault.message, at=now())

    def _fatal(self, fault: Fault) -> ModelError:
        return fatal_error(fault, endpoint=self.address, model=self.endpoint.model, key_name=self.endpoint.key_name)

    def _masked(self, text: str) -> str:
        """A message without the key, which some endpoints quote back."""
        key = self._openai.api_key
        return text.replace(key, "***") if key != _NO_KEY else text

    async def _attempt(self, request: Request) -> Stored | Fault:
        self.calls += 1
        messages: Any = [m.model_dump() for m in request.messages]
        try:
            response = await self._openai.chat.completions.with_raw_response.parse(
                model=self.endpoint.model, messages=messages, response_format=request.reply, **request.parameters
            )
        except openai.OpenAIError as error:
            fault = sort_fault(error)
            return fault._replace(message=self._masked(fault.message))
        return outcome_of(response.text)


async def together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of coroutines in their order; when one fails the others are stopped and waited for."""
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _key(endpoint: Endpoint) -> str:
    """The key from the environment; an address of one's own may need none."""
    if endpoint.base_url is not None and not endpoint.base_url.startswith(("http://", "https://")):
        raise ModelError(
            f"'{endpoint.base_url}' is not an address", fix="--base-url takes one like http://127.0.0.1:8000/v1"
        )
    key = os.environ.get(endpoint.key_name, "").strip()
    if not key and endpoint.base_url is None:
        raise ModelError(
            f"no key: the environment variable {endpoint.key_name} is not set",
            fix="set it, name another with --api-key-env, or use --model embedded",
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"the key in {endpoint.key_name} holds characters that no key has", fix="set it again")
    return key or _NO_KEY
