"""Money and tokens: what was spent, and limits that hold because an upper bound is set aside before each call."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

from construction.llm.cost.estimates import CHARACTERS_PER_TOKEN
from construction.llm.cost.prices import Price
from construction.llm.reply_cache import ReplyCache, StoredOutcome
from schemas.core.errors import ModelError


class Activity:
    """Counts of this run.

    Attributes:
        answers: Requests that have an outcome, from the journal or the endpoint.
        failed: Those of them whose outcome brings nothing: refused, unusable, failed for good.
        waiting: Calls that wait to be sent again after a passing fault.
        repeated: Times that a call was sent again for that reason.
    """

    def __init__(self) -> None:
        self.answers = self.failed = self.waiting = self.repeated = 0
        self._from_endpoint, self._begun = 0, 0.0

    def asks(self) -> None:
        """A call is about to be sent; the first one begins the time over which the rate is taken."""
        self._begun = self._begun or time.monotonic()

    def answered(self, *, from_endpoint: bool, failed: bool = False) -> None:
        """Count an outcome; ``from_endpoint``, or from the journal."""
        self.answers += 1
        self.failed += failed
        self._from_endpoint += from_endpoint

    def rate(self) -> float | None:
        """Answers of the endpoints a minute since the first call; None before there are two."""
        seconds = time.monotonic() - self._begun
        return 60.0 * self._from_endpoint / seconds if self._from_endpoint > 1 and seconds > 0 else None


MOST_TOKENS = 10_000_000  # of any prompt or reply
_HIDDEN_PROMPT = 10_000  # tokens that an endpoint may add to a prompt, or a model think beyond a limit
_TURN = 12  # tokens a message that chat templates add, at most
_FRAME = 80  # tokens that they add once (default system texts, dates)


class Amount(NamedTuple):
    """Tokens in and out, and US dollars where a price is known."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """In and out together."""
        return self.tokens_in + self.tokens_out

    def plus(self, other: Amount, sign: int = 1) -> Amount:
        """The sum, or the difference with ``sign=-1``."""
        return Amount(
            self.tokens_in + sign * other.tokens_in,
            self.tokens_out + sign * other.tokens_out,
            self.cost + sign * other.cost,
        )


NOTHING = Amount()


class BudgetReached(ModelError):
    """The next call does not fit into what is left; everything that was paid for is cached."""


class Budget:
    """Counts what calls cost, and holds limits where some are given.

    What counts against a limit: every reply in the journal (this run's and earlier ones'), calls that were cut off
    while the endpoint worked (time limit, lost connection: their upper bound), and calls in flight when an earlier run
    with a limit was killed (likewise). So a limit belongs to a journal, not to a run.

    Args:
        cache: The journal's replies and notes.
        max_cost: US dollars at most.
        max_tokens: Tokens at most, in and out together.
    """

    def __init__(self, cache: ReplyCache, *, max_cost: float | None = None, max_tokens: int | None = None) -> None:
        self._cache, self.max_cost, self.max_tokens = cache, max_cost, max_tokens
        self.earlier = self.now = NOTHING
        self._held: dict[str, Amount] = {}
        self._holding = NOTHING
        self._left: dict[str, Amount] = {}  # set aside by an earlier run and never settled
        self._freed = asyncio.Event()
        self._over = False
        self.activity = Activity()
        if self.limited:
            self._recall()

    @property
    def limited(self) -> bool:
        """Whether there is a limit to hold."""
        return self.max_cost is not None or self.max_tokens is not None

    @property
    def spent(self) -> Amount:
        """By this run and, where there is a limit, by earlier ones on the same journal."""
        return self.earlier.plus(self.now)

    def _recall(self) -> None:
        """Add up what the journal says was spent."""
        done = set()
        for key, stored in self._cache.replies():
            done.add(key)
            used = Amount(stored.tokens_in or 0, stored.tokens_out or 0, stored.cost or 0.0)
            self.earlier = self.earlier.plus(used)
        for key, value in self._cache.notes("spend/"):
            kind, _, call = key.removeprefix("spend/").partition("/")
            if value is None or (kind == "open" and call in done):
                continue
            self.earlier = self.earlier.plus(Amount(*value))
            if kind == "open":
                self._left[call] = Amount(*value)

    async def set_aside(self, key: str, bound: Amount, *, waiting: bool = False) -> None:
        """Set an upper bound aside before a call, waiting for calls in flight where it does not fit beside them.

        Args:
            key: The call.
            bound: What it can cost at most.
            waiting: It is in a batch that an earlier run submitted, so what that run set aside is this.

        Raises:
            BudgetReached: it does not fit, and nothing is in flight that could free some of it. From then on no call
                fits, small as it may be: the work stops, and a reply in flight would be paid for and lost.
        """
        if not self.limited:
            return
        if self._over:
            raise self.reached()
        if key in self._left:
            left = self._left.pop(key)
            if waiting:
                self.earlier = self.earlier.plus(left, -1)
            else:
                self._note_lost(key, left)
        while self._over or not self._fits_budget(
            bound
        ):  # over: another one that waited here has ended the work meanwhile
            if self._over or not self._held:
                self._over = True
                raise self.reached()
            self._freed.clear()
            await self._freed.wait()
        self._held[key], self._holding = bound, self._holding.plus(bound)
        self._cache.note(f"spend/open/{key}", list(bound))

    def _fits_budget(self, bound: Amount) -> bool:
        total = self.spent.plus(self._holding).plus(bound)
        cost = self.max_cost is None or total.cost <= self.max_cost + 1e-12
        return cost and (self.max_tokens is None or total.tokens <= self.max_tokens)

    def settle(self, key: str, used: Amount, *, lost: bool = False) -> None:
        """Replace what was set aside by what a call cost.

        Args:
            key: The call.
            used: Its tokens and dollars.
            lost: No reply came, but the endpoint may charge: the upper bound stands.
        """
        held = self._held.pop(key, None)
        self.now = self.now.plus(used)
        if held is not None:
            self._holding = self._holding.plus(held, -1) if self._held else NOTHING
            if lost:
                self.now = self.now.plus(held)
                self._note_lost(key, held)
            if lost or not used.tokens:
                self._cache.note(f"spend/open/{key}", None)
        self._freed.set()

    def _note_lost(self, key: str, amount: Amount) -> None:
        self._cache.note(f"spend/lost/{key}/{time.time_ns()}", list(amount))

    def reached(self) -> BudgetReached:
        """The sentence that says what was spent and how to go on."""
        option = "--max-cost" if self.max_cost is not None else "--max-tokens"
        return BudgetReached(
            f"the budget is used up: {self.sentence()}, and the next call may not fit",
            fix=f"give the same command again with a higher {option} to resume; every reply that was paid for is kept",
        )

    def sentence(self) -> str:
        """What was spent, against the limits."""
        spent = self.spent
        parts = [f"{spent.tokens:,} tokens" + (f" of {self.max_tokens:,}" if self.max_tokens is not None else "")]
        if spent.cost or self.max_cost is not None:
            limit = f" of ${self.max_cost:g}" if self.max_cost is not None else ""
            parts.insert(0, f"${spent.cost:.4f}{limit}")
        earlier = " (earlier runs on this journal included)" if self.earlier.tokens else ""
        return f"{' and '.join(parts)} spent{earlier}"


def upper_bound(body: dict[str, Any], price: Price | None) -> Amount:
    """What a call can cost at most.

    No tokeniser makes more tokens than the text has bytes; the reply is bounded by the limit that is sent with it.
    """
    into = sum(_bytes(m["content"]) + _TURN for m in body["messages"]) + _FRAME
    if "response_format" in body:
        into += _bytes(str(body["response_format"]))
    out = int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)
    return Amount(into, out, price.cost(into, out) if price else 0.0)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def plausible_usage(stored: StoredOutcome, body: dict[str, Any] | None) -> StoredOutcome:
    """The outcome with estimates in place of token counts that cannot be true, which would use up any budget.

    Args:
        stored: The outcome.
        body: What was sent; None where an earlier run sent it.
    """
    bound = Amount(MOST_TOKENS, 0) if body is None else upper_bound(body, None)
    prompt = sum(len(m["content"]) for m in body["messages"]) if body else 0
    changes: dict[str, object] = {}
    for field, most, characters in (
        ("tokens_in", 2 * bound.tokens_in + _HIDDEN_PROMPT, prompt),
        ("tokens_out", 2 * bound.tokens_out + _HIDDEN_PROMPT if bound.tokens_out else MOST_TOKENS, len(stored.raw)),
    ):
        count = getattr(stored, field)
        if count is not None and not min(1, characters) <= count <= most:
            changes[field] = characters // CHARACTERS_PER_TOKEN
    return stored.model_copy(update={**changes, "estimated": True}) if changes else stored


def cost_of(stored: StoredOutcome, bound: Amount, price: Price | None) -> StoredOutcome:
    """The outcome with tokens and dollars; where the endpoint counts nothing, the upper bound is taken.

    Args:
        stored: The outcome.
        bound: Its upper bound.
        price: Of the model, where known.
    """
    return stored if price is None else stored.model_copy(update={"cost": price.cost(*_count_use(stored, bound))})


def _count_use(stored: StoredOutcome, bound: Amount) -> tuple[int, int]:
    into = stored.tokens_in if stored.tokens_in is not None else bound.tokens_in
    out = stored.tokens_out if stored.tokens_out is not None else _bytes(stored.raw)
    return into, out


def used_by(stored: StoredOutcome, bound: Amount) -> Amount:
    """What an outcome cost, as ``cost_of`` has it; refusals by an error reply cost nothing."""
    if stored.kind != "reply" and stored.tokens_in is None:
        return NOTHING
    return Amount(*_count_use(stored, bound), stored.cost or 0.0)
