"""Ask an OpenAI-compatible endpoint: journaled replies, retries, one round of repair, live or in batches.

The ``openai`` package is the only way out. It is told not to retry by itself, because only we know the journal.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import openai

from construction.llm.call_errors import CallError, fatal_error, pause, unreachable
from construction.llm.cost.budget import NOTHING, Amount, Budget, cost_of, plausible_usage, upper_bound, used_by
from construction.llm.cost.prices import Price
from construction.llm.endpoint import Access, bare_address, key_of
from construction.llm.prompt_file import PromptStep
from construction.llm.replies import ASKED_AGAIN, Reply, another_attempt, known_sum, read, repair
from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.llm.request_formats import KnownFormats, RequestFormat, body_of, fallback
from construction.llm.step import Request
from construction.llm.transport.batch import BatchTransport
from construction.llm.transport.live import LiveTransport, Throttle, Transport
from construction.llm.transport.secrets import Mask, quiet_wire, secrets_of
from schemas.core.clock import now
from schemas.core.errors import ModelError
from schemas.lineage import Lineage
from schemas.text.escaping import escape_line

T = TypeVar("T")


async def gather_all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of coroutines in their order; when one fails the others are stopped and waited for."""
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        await _stop(tasks)
        raise


async def ordered_map(work: Iterable[Callable[[], Coroutine[Any, Any, T]]], *, ahead: int) -> AsyncGenerator[T, None]:
    """Results one after the other, while up to ``ahead`` later ones are in the making already.

    So nobody waits for the slowest call of a batch: the next batch's calls fill the free places. When one fails or the
    reader stops (close the iterator), the others are stopped and waited for.

    Args:
        work: Makes the coroutines, each when its turn comes.
        ahead: How many beyond the one that is waited for; 0 is one after the other.
    """
    tasks: deque[asyncio.Task[T]] = deque()
    try:
        for make in work:
            tasks.append(asyncio.create_task(make()))
            if len(tasks) > ahead:
                yield await tasks[0]
                tasks.popleft()
        while tasks:
            yield await tasks[0]
            tasks.popleft()
    finally:
        await _stop(list(tasks))


async def _stop(tasks: Sequence[asyncio.Task[T]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


__all__ = ["Client", "Reply", "gather_all", "lineage_of_call"]

logger = logging.getLogger(__name__)

_GIVE_UP = 5  # calls in a row without any answer: the endpoint is gone
_LIMITED = 4  # times as many tries where the endpoint only says that we are too fast
REPLY_TOKENS = 2048  # of one reply, where a budget is given and the request sets no limit


class Client:
    """Asks requests; use as an asynchronous context manager.

    Args:
        endpoint: Where and how.
        cache: Cached replies.
        budget: Counts and limits, shared by all clients of a run; one without limits where left out.
        price: Of the model, where known.
        served_here: The model is a file on this machine; its server names it in its own way.

    Raises:
        ModelError: no key where one is needed; when asking, a wrong key, an unknown model, or an endpoint that is away.
        BudgetReached: the next call does not fit the budget.
    """

    def __init__(
        self,
        endpoint: Access,
        cache: ReplyCache,
        *,
        budget: Budget | None = None,
        price: Price | None = None,
        served_here: bool = False,
    ) -> None:
        self.endpoint, self._cache, self._price = endpoint, cache, price
        self.budget = budget or Budget(cache)
        key = key_of(endpoint)
        self._openai = openai.AsyncOpenAI(
            api_key=key, base_url=endpoint.base_url, max_retries=0, timeout=endpoint.time_limit
        )
        self._mask = Mask(secrets_of(key, str(self._openai.base_url)))
        self._forms = KnownFormats(cache, address=self.address, model=endpoint.model)
        throttle = Throttle(endpoint.concurrency or 8, rpm=endpoint.rpm, tpm=endpoint.tpm)
        live = LiveTransport(self._openai, throttle=throttle, mask=self._mask, timeout=endpoint.time_limit)
        self._wire: Transport = self._batches() if endpoint.batch else live
        self._busy = WeakValueDictionary[str, asyncio.Lock]()
        self._jitter = random.Random()
        self._silent = 0
        self._answered = False
        self._told_of_usage = False
        self._served_here = served_here
        self._answering: list[str] = []  # models that answered, in cached replies and new ones
        self._unsure: dict[str, StoredOutcome] = {}  # failed for good before the endpoint was known to work at all
        self._stack = ExitStack()

    def _batches(self) -> BatchTransport:
        return BatchTransport(
            self._openai, self.endpoint, self._cache, address=self.address, mask=self._mask, keep=self._keep
        )

    @property
    def calls(self) -> int:
        """Calls sent by this client, repeated ones included."""
        return self._wire.calls

    @property
    def held_up(self) -> str:
        """What its calls wait for besides replies: a pause that the endpoint asked for, its batches."""
        return f"{escape_line(self.endpoint.model)} {why}" if (why := self._wire.held_up()) else ""

    @property
    def address(self) -> str:
        """The endpoint's address without user name, key or query."""
        return bare_address(str(self._openai.base_url))

    async def __aenter__(self) -> Client:
        self._stack.enter_context(quiet_wire())
        if not self.endpoint.batch:
            try:
                await self._collect_batches()
            except BaseException:
                await self.__aexit__(None, None, None)
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.close()
        await self._openai.close()
        self._stack.close()

    async def _collect_batches(self) -> None:
        """Take what batches of an earlier run hold, so that a live run does not pay for it again."""
        if left := await self._batches().collect_ended():
            raise ModelError(
                f"{left} batches of an earlier run are still at work, and a live run would pay for their calls again",
                where=self.address,
                fix="give the same command with --batch to wait for them, or cancel them at the endpoint first",
            )

    async def ask(self, request: Request) -> Reply:
        """The reply to a request: from the journal if it is there, else from the endpoint.

        A reply that cannot be used is asked for again, ``attempts`` times in all; with ``retry_failed`` once more,
        where all cached attempts failed. Tokens, dollars and calls are those of all attempts together.

        A reply that does not fit its type is first sent back with the error, ``repairs`` times. Every round is a call
        with a journal key of its own, so a resumed run walks the same rounds without asking.
        """
        asked, outcomes = 0, list[StoredOutcome]()
        for attempt in count():
            again = another_attempt(request, attempt)
            if attempt and not self._may_ask(again, attempt, asked):
                break
            for _ in range(self.endpoint.repairs + 1):
                key = request_key(self.endpoint.model, again)
                outcome, fresh = await self._recorded(key, again)
                asked += fresh
                if isinstance(outcome, CallError):
                    return Reply("unanswered", None, "", outcome.message, key, None, None, "", asked)
                outcomes.append(outcome)
                answered_by = self._who_answered(outcome)
                status, value, message = read(outcome, request.reply)
                if status != "unparseable":
                    break
                again = repair(again, outcome.raw, message)
            if status not in ASKED_AGAIN:
                break
        self.budget.activity.answered(from_endpoint=asked > 0, failed=status != "ok")
        tokens_in, tokens_out = known_sum(o.tokens_in for o in outcomes), known_sum(o.tokens_out for o in outcomes)
        last, cost = outcomes[-1], known_sum(o.cost for o in outcomes)
        return Reply(status, value, last.raw, message, key, tokens_in, tokens_out, last.at, asked, cost, answered_by)

    def _may_ask(self, again: Request, attempt: int, asked: int) -> bool:
        """Whether a further attempt is cached, within the bound, or wanted for a failure of an earlier run."""
        key = request_key(self.endpoint.model, again)
        if attempt < (self.endpoint.attempts or 1) or self._cache.get(key) is not None:
            return True
        return self._cache.retry_failed and not asked

    def _who_answered(self, outcome: StoredOutcome) -> str | None:
        """Who gave a reply, for the lineage; None where it is the model that was asked, or the endpoint names none.

        Raises:
            ModelError: it is a second model, and that is to be an error. The reply is stored.
        """
        name, asked = outcome.answering_model, self.endpoint.model
        if name is None or self._served_here:
            return None
        another = outcome.served != asked
        if name not in self._answering:
            if self._answering:
                text = f"{asked} is asked, and after {self._answering[-1]} now {name} answers"
                if self.endpoint.strict:
                    fix = "ask for a model by its dated name with a journal of its own (--journal)"
                    raise ModelError(text, where=self.address, fix=f"{fix}, or leave --strict out")
                logger.warning("%s: %s; the lineage of each record names its own", self.address, text)
            elif another:
                logger.warning("%s: %s is asked, and %s answers; lineage names both", self.address, asked, name)
            self._answering.append(name)
        return name if another or outcome.fingerprint else None

    async def samples(self, request: Request, n: int) -> list[Reply]:
        """``n`` replies to one request, sample numbers from the request's own on; each is cached by itself."""
        return await gather_all([self.ask(request._replace(sample=request.sample + i)) for i in range(n)])

    async def _recorded(self, key: str, request: Request) -> tuple[StoredOutcome | CallError, int]:
        """What is cached for a call, asking when nothing is; two equal calls at once become one."""
        lock = self._busy.setdefault(key, asyncio.Lock())
        async with lock:
            stored = self._cache.get(key)
            if stored is not None:
                return stored, 0
            self.budget.activity.asks()
            return await self._call(key, request), 1

    async def _call(self, key: str, request: Request) -> StoredOutcome | CallError:
        """Ask, and ask again after transient faults; what stays unanswered is left for another run.

        An endpoint that was never heard of gets three tries: a wrong address should be told soon. The work stops where
        several calls in a row stay without an answer.
        """
        if self.endpoint.replay:
            raise ModelError(
                f"the journal holds no reply of {self.endpoint.model} to a request of this run",
                fix="give facts, models, options and prompts of the run that wrote it, or leave --replay out",
            )
        failed = limited = 0
        while True:
            outcome = await self._attempt(key, request)
            if isinstance(outcome, StoredOutcome):
                self._note_success()
                return outcome
            if outcome.kind != "transient":
                return self._final_failure(key, request, outcome)
            if outcome.status == 429:
                limited += 1
            else:
                failed += 1
            tries = self.endpoint.tries if self._answered else min(self.endpoint.tries, 3)
            if failed >= tries or limited >= self.endpoint.tries * _LIMITED:
                self._silent += 1
                if not self._answered or self._silent >= _GIVE_UP:
                    raise unreachable(outcome, endpoint=self.address, tries=failed + limited)
                return outcome
            if self._wire.repeats:
                wait = pause(
                    failed + limited - 1, retry_after=outcome.wait, base=self.endpoint.backoff, jitter=self._jitter
                )
                logger.info("%s; asking again in %.1f s", outcome.message, wait)
                self.budget.activity.waiting += 1
                try:
                    await asyncio.sleep(wait)
                finally:
                    self.budget.activity.waiting -= 1
                self.budget.activity.repeated += 1

    def _reply_limit(self, request: Request) -> int | None:
        """Tokens of a reply at most, where the parameters do not say: as the user says, else the prompt."""
        limit = self.endpoint.reply_tokens or request.longest
        return limit or (REPLY_TOKENS if self.budget.limited else None)

    async def _attempt(self, key: str, request: Request) -> StoredOutcome | CallError:
        """One try, in the form that is known to work or can be found; an outcome is cached when this returns.

        The place among the calls in flight is kept while forms are tried, so that what waits for one learns from it.
        """
        async with self._wire.slot():
            form, first = self._forms.of(request) or RequestFormat(), None
            names = {*request.parameters, *(("max_tokens",) if self._reply_limit(request) is not None else ())}
            while True:
                outcome = await self._send(key, request, form)
                if isinstance(outcome, StoredOutcome):
                    if outcome.kind == "reply":
                        self._forms.works(request, form)
                    return outcome
                other = fallback(form, outcome, frozenset(names), proven=self._forms.of(request) is not None)
                if other is None:
                    return outcome if outcome.kind == "transient" else first or outcome
                form, first = other, first or outcome

    async def _send(self, key: str, request: Request, form: RequestFormat) -> StoredOutcome | CallError:
        """Send a call once, within the budget."""
        if self.budget.limited and "max_tokens" in form.without:
            raise ModelError(
                "the endpoint takes no limit on the length of a reply, so no budget can be held",
                where=self.address,
                fix="leave --max-cost and --max-tokens out",
            )
        body = body_of(self.endpoint.model, request, form, longest=self._reply_limit(request))
        upper_limit = upper_bound(body, self._price) if self.budget.limited else NOTHING
        await self.budget.set_aside(key, upper_limit, waiting=self._wire.waiting(key))
        outcome = await self._wire.send(key, body)
        if isinstance(outcome, CallError):
            self.budget.settle(key, NOTHING, lost=outcome.lost)
            return outcome
        outcome = self._keep(key, outcome, body, upper_limit)
        self.budget.settle(key, used_by(outcome, upper_limit))
        return outcome

    def _keep(
        self, key: str, outcome: StoredOutcome, body: dict[str, Any] | None, bound: Amount = NOTHING
    ) -> StoredOutcome:
        """Journal an outcome, once, with what it cost; token counts that cannot be true are replaced by estimates.

        Args:
            key: The call.
            outcome: What came of it.
            body: What was sent; None where an earlier run sent it.
            bound: What it can have cost at most, where the endpoint counts nothing.
        """
        outcome = plausible_usage(outcome, body)
        if outcome.estimated and not self._told_of_usage:
            self._told_of_usage = True
            logger.warning("%s counts tokens that cannot be; estimates by length take their place", self.address)
        if outcome.cost is None:
            outcome = cost_of(outcome, bound, self._price)
        if self._cache.get(key) is None:
            self._cache.put(key, outcome)
        return outcome

    def _final_failure(self, key: str, request: Request, fault: CallError) -> StoredOutcome:
        """The outcome of a call that never works; stored as soon as the endpoint is known to work at all."""
        self._silent += fault.kind == "permanent"
        if fault.kind == "fatal" or (fault.kind == "permanent" and not self._answered and self._silent >= _GIVE_UP):
            e = self.endpoint
            raise fatal_error(fault, endpoint=self.address, model=e.model, key_name=e.key_name)
        outcome = StoredOutcome(
            kind="refused" if fault.kind == "refused" else "permanent", message=fault.message, at=now()
        )
        if self._answered or self._forms.of(request) is not None:
            self._cache.put(key, outcome)
        else:
            self._unsure[key] = outcome
        return outcome

    def _note_success(self) -> None:
        """The endpoint has answered: what failed for good before that did so by itself, and is stored."""
        self._silent, self._answered = 0, True
        while self._unsure:
            key, outcome = self._unsure.popitem()
            if self._cache.get(key) is None:
                self._cache.put(key, outcome)


def lineage_of_call(
    item_id: str,
    stage: str,
    reply: Reply,
    client: Client,
    step: PromptStep[Any, Any, Any],
    *,
    parents: tuple[str, ...] = (),
    detail: Mapping[str, Any] | None = None,
) -> Lineage:
    """The lineage of a record that a reply became.

    Args:
        item_id: Content id of the record.
        stage: Name of the stage.
        reply: The reply, with its journal key, time, tokens and cost.
        client: Who asked, and where.
        step: What was asked; of its prompt the name, a hash of its words and the quality of its texts are kept.
        parents: Content ids of what it was made from.
        detail: What else the stage keeps.
    """
    quality = step.wording.quality_of(client.endpoint.model)
    return Lineage(
        item_id=item_id,
        stage=stage,
        parents=parents,
        made_at=reply.at,
        model=client.endpoint.model,
        endpoint=client.address,
        prompt=step.label,
        request=reply.request,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cost=reply.cost,
        detail={**(detail or {}), "wording": step.wording.digest, **({"quality": quality} if quality else {})},
        answered_by=reply.answered_by,
    )
