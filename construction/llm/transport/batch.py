"""Batch mode: calls are gathered until nobody has more to ask, go out as one batch, and come back hours later.

Who asks does not notice: ``send`` waits longer. Construction asks in stages (questions, then their scripts, then what
failed), so a run is some rounds of one batch each. A batch's calls are in the journal before it is made and its id
right after, so a run that was killed finds its batches again, by id or by the mark it left in their metadata, and
collects them; nothing is submitted twice. Every result is journaled before anything uses it, under the key that a live
call would have.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any, NamedTuple

import openai

from construction.llm.calls.call_errors import CallError
from construction.llm.cost.budget import Amount, cost_of
from construction.llm.cost.prices import Price
from construction.llm.reply_cache import ReplyCache, StoredOutcome
from construction.llm.transport.batch_api import FILE_BYTES, FILE_CALLS, BatchApi, chunks, results
from construction.llm.transport.live import Transport
from schemas.core.errors import ModelError

logger = logging.getLogger(__name__)

_QUIET = 0.2  # seconds without a new call, after which all who could ask are taken to wait
_TURNS = 20  # turns of the event loop that must also pass
_ENDED = ("completed", "expired", "cancelled", "failed")


class _WaitingCall(NamedTuple):
    body: dict[str, Any]
    reply: asyncio.Future[StoredOutcome | CallError]


class BatchTransport(Transport):
    """Sends calls in batches.

    Args:
        client: The ``openai`` client.
        cache: Where results and batch ids are kept.
        place: Address and model; batches of another place in the same journal are left alone.
        price: Of the model, in batches.
        api: The Batch API with its retries.
        poll: Seconds between looks at the open batches.
        max_calls: Calls in one batch at most.
        size: Bytes of one batch's file at most.
    """

    repeats = False

    def __init__(
        self,
        cache: ReplyCache,
        api: BatchApi,
        *,
        place: tuple[str, str],
        price: Price | None = None,
        poll: float = 30.0,
        max_calls: int = FILE_CALLS,
        size: int = FILE_BYTES,
    ) -> None:
        self._cache, self._api, self._place, self._price = cache, api, list(place), price
        self._poll, self._max_calls, self._size = poll, max_calls, size
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

    def held_up(self) -> str:
        """How many calls of the open batches have been answered."""
        return f"batch: {self._counts[0]:,}/{self._counts[1]:,}" if self._counts[1] else ""

    @property
    def open(self) -> bool:
        """Whether an earlier run left batches to collect."""
        return bool(self._open)

    def waiting(self, key: str) -> bool:
        """Whether an open batch holds this call."""
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
                    await asyncio.sleep(self._poll)
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
                batch_id = await self._api.find(mark)
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
            batch_id = await self._api.create(mark, lines)
            self._note(mark, batch, state="sent", id=batch_id)
            self.calls += len(keys)
            logger.info("batch %s: %d calls submitted", batch_id, len(keys))

    async def _look(self) -> bool:
        """Look at every open batch once; returns whether one has ended."""
        ended, counts = False, [0, 0]
        for mark, batch in list(self._open.items()):
            seen = await self._api.look(batch["id"])
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
                outcomes |= results(await self._api.content(file), set(batch["keys"]), mask=self._api.mask)
        for key, outcome in outcomes.items():
            if isinstance(outcome, StoredOutcome):
                outcome = cost_of(outcome, Amount(), self._price).model_copy(update={"batch": batch["id"]})
                outcomes[key] = outcome
                if self._cache.get(key) is None:
                    self._cache.put(key, outcome)
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
        where, name = self._place[0], f"batch {batch['id']}"
        if seen.status == "cancelled":
            again = "give the same command again to submit the rest; what was done is kept"
            return ModelError(f"{name} was cancelled", where=where, fix=again) if watched else None
        errors = (seen.errors.data if seen.errors is not None else None) or []
        code, text = (errors[0].code, errors[0].message) if errors else (None, None)
        if code == "token_limit_exceeded" and len(batch["keys"]) > 1:
            self._max_calls = max(1, len(batch["keys"]) // 2)
            logger.info("%s is too large for the account's queue: at most %d calls a batch now", name, self._max_calls)
            return None
        reason = self._api.mask(" ".join(str(text or "no reason given").split())[:200])
        return ModelError(
            f"{name} failed: {reason}", where=where, fix="mend the cause, or leave --batch out; work is kept"
        )
