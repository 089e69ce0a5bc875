"""The Batch API's files and calls: building input, reading results, asking patiently."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import openai

from construction.llm.calls.call_errors import (
    CallError,
    classify_error,
    error_of_status,
    fatal_error,
    pause,
    unreachable,
)
from construction.llm.replies import outcome_of
from construction.llm.reply_cache import StoredOutcome
from construction.llm.transport.live import mask_outcome
from construction.llm.transport.secrets import Mask

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


class BatchApi:
    """The calls of the Batch API, each tried again after passing faults.

    Args:
        client: The ``openai`` client.
        address: For errors.
        model: For errors.
        key_name: For errors.
        mask: Takes secrets out.
        tries: Attempts of one call.
        backoff: Seconds before the second one.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        *,
        address: str,
        model: str,
        key_name: str,
        mask: Mask,
        tries: int = 6,
        backoff: float = 1.0,
    ) -> None:
        self._client, self._address, self._model, self._key_name = client, address, model, key_name
        self.mask, self._tries, self._backoff = mask, tries, backoff
        self._jitter = random.Random()

    async def create(self, mark: str, lines: bytes) -> str:
        """Upload a file and make its batch; the id. A second attempt looks first whether the batch was made."""
        file = await self._patiently(
            lambda: self._client.files.create(file=(f"{_MARK}-{mark[:8]}.jsonl", lines), purpose="batch")
        )
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

    async def find(self, mark: str) -> str | None:
        """The id of the batch that carries a mark, or None."""
        return await self._patiently(lambda: self._find(mark))

    async def _find(self, mark: str) -> str | None:
        seen = 0
        async for batch in self._client.batches.list(limit=100):
            if (batch.metadata or {}).get(_MARK) == mark:
                return batch.id
            seen += 1
            if seen >= _LISTED:
                break
        return None

    async def look(self, batch: str) -> openai.types.Batch | None:
        """The state of a batch; None where the endpoint does not know it (any more)."""
        try:
            return await self._patiently(lambda: self._client.batches.retrieve(batch), missing=True)
        except openai.NotFoundError:
            logger.warning("batch %s is unknown to the endpoint; what it held is asked again", batch)
            return None

    async def content(self, file: str) -> str:
        """A result file."""
        answer = await self._patiently(lambda: self._client.files.content(file))
        return answer.read().decode("utf-8", "replace")

    async def _patiently(self, call: Callable[[], Awaitable[T]], *, missing: bool = False) -> T:
        """The result of a call, tried again after passing faults."""
        for attempt in range(self._tries):
            try:
                return await call()
            except openai.OpenAIError as error:
                if missing and isinstance(error, openai.NotFoundError):
                    raise
                fault = classify_error(error)
                fault = fault._replace(message=self.mask(fault.message))
            if fault.kind != "transient":
                raise fatal_error(fault, endpoint=self._address, model=self._model, key_name=self._key_name)
            wait = pause(attempt, retry_after=fault.wait, base=self._backoff, jitter=self._jitter)
            logger.info("%s; asking again in %.1f s", fault.message, wait)
            await asyncio.sleep(wait)
        raise unreachable(fault, endpoint=self._address, tries=self._tries)
