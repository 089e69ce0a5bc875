"""Batch mode: calls are gathered until nobody has more to ask, go out as one batch, and come back hours later.

Who asks does not notice: ``send`` waits longer. Construction asks in stages (questions, then their scripts, then what
failed), so a run is some rounds of one batch each. A batch's calls are in the journal before it is made and its id
right after, so a run that was killed finds its batches again, by id or by the mark it left in their metadata, and
collects them; nothing is submitted twice. Every result is journaled before anything uses it, under the key that a live
call would have.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import openai
from typing_extensions import override

from construction.llm.call_errors import (
    CallError,
    classify_error,
    error_of_status,
    fatal_error,
    pause,
    unreachable,
)
from construction.llm.endpoint import Access
from construction.llm.replies import outcome_of
from construction.llm.reply_cache import ReplyCache, StoredOutcome
from construction.llm.transport.live import Transport, mask_outcome
from construction.llm.transport.secrets import Mask
from schemas.core.errors import ModelError

logger = logging.getLogger(__name__)

FILE_CALLS = 50_000  # the Batch API's limit
FILE_BYTES = 190 * 2**20  # its limit is 200 MB
_MARK = "scedit"  # name of our mark in a batch's metadata
_LISTED = 1000  # newest batches among which a mark is looked for
T = TypeVar("T")


def chunks(calls: Mapping[str, dict[str, Any]], *, max_calls: int, size: int) -> Iterator[tuple[list[str], bytes]]:
    """Input files for some calls: their keys, and the JSON lines.

    Args:
        calls: Bodies by key.
        max_calls: Calls in a file.
        size: Bytes of a file; a single call above it gets a file of its own.
    """
    keys: list[str] = []
    lines: list[bytes] = []
    total = 0
    for key, body in calls.items():
        data = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
        line = json.dumps(data).encode() + b"\n"
        if keys and (len(keys) >= max_calls or total + len(line) > size):
            yield keys, b"".join(lines)
            keys, lines, total = [], [], 0
        keys.append(key)
        lines.append(line)
        total += len(line)
    if keys:
        yield keys, b"".join(lines)


def results(text: str, keys: set[str], *, mask: Mask) -> dict[str, StoredOutcome | CallError]:
    """Outcomes by key from an output or error file; lines that are none of ours are passed over.

    Args:
        text: The file.
        keys: Calls of the batch.
        mask: Takes secrets out.
    """
    outcomes: dict[str, StoredOutcome | CallError] = {}
    for line in text.split("\n"):
        try:
            data = json.loads(line)
            key, response, error = data["custom_id"], data.get("response"), data.get("error")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            continue
        if isinstance(key, str) and key in keys:
            outcomes[key] = mask_outcome(_outcome(response, error), mask)
    return outcomes


def _outcome(response: Any, error: Any) -> StoredOutcome | CallError:
    if isinstance(response, dict) and isinstance(response.get("status_code"), int):
        if response["status_code"] == 200:
            return outcome_of(json.dumps(response.get("body")))
        return error_of_status(response["status_code"], response.get("body"))
    reason = error.get("message") or error.get("code") if isinstance(error, dict) else None
    return CallError("transient", " ".join(str(reason or "no reply in the batch").split())[:200])


_QUIET = 0.2  # seconds without a new call, after which all who could ask are taken to wait
_TURNS = 20  # turns of the event loop that must also pass
_ENDED = ("completed", "expired", "cancelled", "failed")


class _WaitingCall(NamedTuple):
    body: dict[str, Any]
    reply: asyncio.Future[StoredOutcome | CallError]


class BatchTransport(Transport):
    """Sends calls in batches; the calls of the Batch API are tried again after passing faults.

    Args:
        client: The ``openai`` client.
        endpoint: Whom to ask; batches of another address or model in the same journal are left alone.
        cache: Where batch ids are kept.
        address: The endpoint's, without secrets.
        mask: Takes secrets out.
        keep: Journals an outcome, with the body of its call where this process knows it.
        max_calls: Calls in one batch at most.
        size: Bytes of one batch's file at most.
    """

    repeats = False

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        endpoint: Access,
        cache: ReplyCache,
        *,
        address: str,
        mask: Mask,
        keep: Callable[[str, StoredOutcome, dict[str, Any] | None], StoredOutcome],
        max_calls: int = FILE_CALLS,
        size: int = FILE_BYTES,
    ) -> None:
        self._client, self._endpoint, self._cache, self._keep = client, endpoint, cache, keep
        self._address, self._mask, self._place = address, mask, [address, endpoint.model]
        self._max_calls, self._size, self._jitter = max_calls, size, random.Random()
        self._waiting: dict[str, _WaitingCall] = {}
        self._running: set[str] = set()  # batches that this process has seen at work
        self._open = {
            key.removeprefix("batch/"): value
            for key, value in cache.notes("batch/")
            if value["state"] != "done" and value["place"] == self._place
        }
        self._news = 0
        self._pump: asyncio.Task[None] | None = None
        self._counts = [0, 0]

    @override
    def held_up(self) -> str:
        return f"batch: {self._counts[0]:,}/{self._counts[1]:,}" if self._counts[1] else ""

    @override
    def waiting(self, key: str) -> bool:
        return any(key in batch["keys"] for batch in self._open.values())

    async def send(self, key: str, body: dict[str, Any]) -> StoredOutcome | CallError:
        """Add a call to the next batch, unless an open one holds it, and wait."""
        stored = self._cache.get(key)
        if stored is not None:
            return stored  # collected between asking for it and here
        reply = asyncio.get_running_loop().create_future()
        self._waiting[key] = _WaitingCall(body, reply)
        self._news += 1
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._work())
        outcome: StoredOutcome | CallError = await reply
        return outcome

    async def close(self) -> None:
        """Stop looking; open batches go on at the endpoint and a later run collects them."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    async def collect_ended(self) -> int:
        """Collect what has ended of earlier runs' batches; returns how many are still at work."""
        await self._recover()
        await self._look()
        return len(self._open)

    async def _work(self) -> None:
        """Rounds, until nobody waits."""
        try:
            await self._recover()
            while self._waiting:
                await self._wait_for_quiet()
                await self._submit()
                if not await self._look():
                    await asyncio.sleep(self._endpoint.poll)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to those who wait
            for waiting in self._waiting.values():
                if not waiting.reply.done():
                    waiting.reply.set_exception(error)
            self._waiting.clear()

    async def _wait_for_quiet(self) -> None:
        """Wait until no new call has come for a while."""
        seen = -1
        while seen != self._news:
            seen = self._news
            await asyncio.sleep(_QUIET)
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    async def _recover(self) -> None:
        """Learn what became of batches that an earlier run was about to make when it died."""
        for mark, batch in list(self._open.items()):
            if batch["state"] == "meant":
                batch_id = await self._patiently(partial(self._find, mark))
                self._note(mark, batch, state="sent" if batch_id else "done", id=batch_id)

    def _note(self, mark: str, batch: dict[str, Any], **changes: Any) -> None:
        batch = {**batch, **changes}
        self._cache.note(f"batch/{mark}", batch)
        if batch["state"] == "done":
            self._open.pop(mark, None)
        else:
            self._open[mark] = batch

    async def _submit(self) -> None:
        """Make batches of the calls that no open batch holds."""
        held = {key for batch in self._open.values() for key in batch["keys"]}
        fresh = {key: call.body for key, call in self._waiting.items() if key not in held}
        for keys, lines in chunks(fresh, max_calls=self._max_calls, size=self._size):
            mark = uuid.uuid4().hex
            batch = {"state": "meant", "place": self._place, "keys": keys, "id": None}
            self._note(mark, batch)
            batch_id = await self._create(mark, lines)
            self._note(mark, batch, state="sent", id=batch_id)
            self.calls += len(keys)
            logger.info("batch %s: %d calls submitted", batch_id, len(keys))

    async def _look(self) -> bool:
        """Look at every open batch once; returns whether one has ended."""
        ended, counts = False, [0, 0]
        for mark, batch in list(self._open.items()):
            seen = await self._retrieve(batch["id"])
            if seen is not None and seen.status not in _ENDED:
                self._running.add(mark)
                if seen.request_counts is not None:
                    counts = [counts[0] + seen.request_counts.completed, counts[1] + seen.request_counts.total]
                continue
            ended = True
            await self._collect(mark, batch, seen)
        self._counts = counts
        return ended

    async def _collect(self, mark: str, batch: dict[str, Any], seen: openai.types.Batch | None) -> None:
        """Journal the results of a batch that has ended, then hand them out; what has none is asked again."""
        outcomes: dict[str, StoredOutcome | CallError] = {}
        status = seen.status if seen is not None else "unknown to the endpoint"
        for file in (seen.output_file_id, seen.error_file_id) if seen is not None else ():
            if file:
                outcomes |= results(await self._content(file), set(batch["keys"]), mask=self._mask)
        for key, outcome in outcomes.items():
            if isinstance(outcome, StoredOutcome):
                body = self._waiting[key].body if key in self._waiting else None
                outcomes[key] = self._keep(key, outcome.model_copy(update={"batch": batch["id"]}), body)
        left = len(batch["keys"]) - len(outcomes)
        self._note(mark, batch, state="done", status=status)
        logger.info("batch %s is %s: %d outcomes, %d calls without", batch["id"], status, len(outcomes), left)
        stop = self._verdict(batch, seen, mark in self._running)
        if stop is not None:
            raise stop
        missing = CallError("transient", f"the batch is {status} and holds no reply to this call")
        for key in batch["keys"]:
            waiting = self._waiting.pop(key, None)
            if waiting is not None and not waiting.reply.done():
                waiting.reply.set_result(outcomes.get(key, missing))

    def _verdict(self, batch: dict[str, Any], seen: openai.types.Batch | None, watched: bool) -> ModelError | None:
        """Why the work should stop after this batch, or None."""
        if seen is None or seen.status in ("completed", "expired"):
            return None
        where, name = self._address, f"batch {batch['id']}"
        if seen.status == "cancelled":
            again = "give the same command again to submit the rest; what was done is kept"
            return ModelError(f"{name} was cancelled", where=where, fix=again) if watched else None
        errors = (seen.errors.data if seen.errors is not None else None) or []
        code, text = (errors[0].code, errors[0].message) if errors else (None, None)
        if code == "token_limit_exceeded" and len(batch["keys"]) > 1:
            self._max_calls = max(1, len(batch["keys"]) // 2)
            logger.info("%s is too large for the account's queue: at most %d calls a batch now", name, self._max_calls)
            return None
        reason = self._mask(" ".join(str(text or "no reason given").split())[:200])
        return ModelError(
            f"{name} failed: {reason}", where=where, fix="mend the cause, or leave --batch out; work is kept"
        )

    async def _create(self, mark: str, lines: bytes) -> str:
        """Upload a file and make its batch; the id. A second attempt looks first whether the batch was made.

        Raises:
            ModelError: the endpoint has no Batch API.
        """
        content = (f"{_MARK}-{mark[:8]}.jsonl", lines)
        try:
            file = await self._patiently(lambda: self._client.files.create(file=content, purpose="batch"), missing=True)
        except openai.NotFoundError:
            fix = "leave --batch out, or check --base-url"
            raise ModelError("the endpoint has no Batch API (HTTP 404)", where=self._address, fix=fix) from None
        first = True

        async def make() -> str:
            nonlocal first
            batch_id = None if first else await self._find(mark)
            first = False
            if batch_id is None:
                batch = await self._client.batches.create(
                    input_file_id=file.id,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_MARK: mark},
                )
                batch_id = batch.id
            return batch_id

        return await self._patiently(make)

    async def _find(self, mark: str) -> str | None:
        """The id of the batch that carries a mark, or None."""
        seen = 0
        async for batch in self._client.batches.list(limit=100):
            if (batch.metadata or {}).get(_MARK) == mark:
                return batch.id
            seen += 1
            if seen >= _LISTED:
                break
        return None

    async def _retrieve(self, batch: str) -> openai.types.Batch | None:
        """The state of a batch; None where the endpoint does not know it (any more)."""
        try:
            return await self._patiently(lambda: self._client.batches.retrieve(batch), missing=True)
        except openai.NotFoundError:
            logger.warning("batch %s is unknown to the endpoint; what it held is asked again", batch)
            return None

    async def _content(self, file: str) -> str:
        """A result file."""
        answer = await self._patiently(lambda: self._client.files.content(file))
        return answer.read().decode("utf-8", "replace")

    async def _patiently(self, call: Callable[[], Awaitable[T]], *, missing: bool = False) -> T:
        """The result of a call, tried again after passing faults."""
        for attempt in range(self._endpoint.tries):
            try:
                return await call()
            except openai.OpenAIError as error:
                if missing and isinstance(error, openai.NotFoundError):
                    raise
                fault = classify_error(error)
                fault = fault._replace(message=self._mask(fault.message))
            if fault.kind != "transient":
                e = self._endpoint
                raise fatal_error(fault, endpoint=self._address, model=e.model, key_name=e.key_name)
            wait = pause(attempt, retry_after=fault.wait, base=self._endpoint.backoff, jitter=self._jitter)
            logger.info("%s; asking again in %.1f s", fault.message, wait)
            await asyncio.sleep(wait)
        raise unreachable(fault, endpoint=self._address, tries=self._endpoint.tries)
