"""The way to the endpoint: one call at a time for each of many, through the ``openai`` package."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import openai

from construction.llm.calls.call_errors import CallError, classify_error
from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN
from construction.llm.replies import outcome_of
from construction.llm.reply_cache import StoredOutcome
from construction.llm.transport.rate_limits import Throttle
from construction.llm.transport.secrets import Mask
from schemas.text.status_line import duration

logger = logging.getLogger(__name__)

_USUAL_REPLY = 200  # tokens expected of a reply without a limit; corrected when the endpoint has counted


class Transport:
    """A way to send calls: live, or in batches.

    Attributes:
        calls: Calls sent by this process.
        repeats: Whether a failed call waits before it goes again (a batch is slow enough by itself).
    """

    calls = 0
    repeats = True

    def slot(self) -> AbstractAsyncContextManager[None]:
        """A place among the calls in flight; all may wait at once."""
        return nullcontext()

    def waiting(self, key: str) -> bool:
        """Whether an earlier run has sent this call and its reply is still to be collected."""
        return False

    def held_up(self) -> str:
        """What its calls wait for besides replies."""
        return ""

    async def send(self, key: str, body: dict[str, Any]) -> StoredOutcome | CallError:
        """Send one call and wait for what comes of it."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop whatever goes on in the background."""


class LiveTransport(Transport):
    """Sends each call at once.

    Args:
        client: The ``openai`` client; it must not retry.
        throttle: How fast.
        mask: Takes secrets out of what comes back.
        timeout: Seconds until a call is given up, however slowly bytes drip in.
    """

    def __init__(self, client: openai.AsyncOpenAI, *, throttle: Throttle, mask: Mask, timeout: float) -> None:
        self._client, self._throttle, self._mask, self._timeout = client, throttle, mask, timeout

    def slot(self) -> AbstractAsyncContextManager[None]:
        """A place among the calls in flight."""
        return self._throttle.slot

    def held_up(self) -> str:
        """For how long all calls still pause because the endpoint asked for it."""
        seconds = self._throttle.pause
        return f"pauses {duration(seconds)}" if seconds >= 1 else ""

    async def send(self, key: str, body: dict[str, Any]) -> StoredOutcome | CallError:
        """Send one call; faults come back as values, with secrets masked."""
        expected = _expected_tokens(body)
        await self._throttle.may_send(expected)
        self.calls += 1
        outcome = await self._post(body)
        if isinstance(outcome, StoredOutcome):
            counted = (outcome.tokens_in or 0) + (outcome.tokens_out or 0)
            self._throttle.used(expected, counted or expected)
            return outcome
        self._throttle.used(expected, expected if outcome.lost else 0)
        if outcome.status == 429:
            self._throttle.limited(outcome.wait)
        return outcome

    async def _post(self, body: dict[str, Any]) -> StoredOutcome | CallError:
        try:
            async with asyncio.timeout(self._timeout):
                text = await self._client.post("/chat/completions", body=body, cast_to=str)
        except TimeoutError:
            return CallError("transient", "no reply within the time limit", lost=True)
        except openai.OpenAIError as error:
            return mask_outcome(classify_error(error), self._mask)
        return mask_outcome(outcome_of(text), self._mask)


def mask_outcome(outcome: StoredOutcome | CallError, mask: Mask) -> StoredOutcome | CallError:
    """An outcome without secrets, which some endpoints quote back."""
    if isinstance(outcome, CallError):
        return outcome._replace(message=mask(outcome.message))
    changes = {
        name: mask(value)
        for name in ("raw", "message", "finish", "served", "thought")
        if isinstance(value := getattr(outcome, name), str) and mask(value) != value
    }
    return outcome.model_copy(update=changes) if changes else outcome


def _expected_tokens(body: dict[str, Any]) -> float:
    prompt_tokens = sum(len(m["content"]) for m in body["messages"]) / CHARACTERS_PER_TOKEN
    return prompt_tokens + min(
        body.get("max_tokens") or body.get("max_completion_tokens") or _USUAL_REPLY, _USUAL_REPLY
    )
