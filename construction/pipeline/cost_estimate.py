"""What a construction will ask of an endpoint and what that costs, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from pydantic import Field

from construction.llm.cost.prices import Price, how_to_add
from construction.llm.dry_run import DryRunClient
from construction.llm.endpoint import Access
from construction.pipeline.plan import ConstructionPlan, ConstructionWork
from schemas.core.records import Frozen
from schemas.text.counting import counted


class StageEstimate(Frozen):
    """Calls of a stage, their rough tokens, and US dollars where a price is known; first attempts only."""

    stage: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


class ConstructionEstimate(Frozen):
    """Calls that are not cached and rough tokens, first attempts only.

    ``attempts`` bounds how often a rejected item is asked again.

    Attributes:
        stages: Questions, scripts of each author, and readings apart.
        cost: US dollars of all stages; None where no price is known.
        checked: Day on which the price held.
        advice: What to do about a missing price, or to check about an old one.
        budget: What the limits mean for this work; empty where there is none or it is kept easily.
        earlier: What stands in the store for the same facts, by another model, prompt or number.
        alone: Which facts have no neighbour; empty where all have some.
        answers: Requests of the whole work, cached ones among them.
    """

    facts: int
    neighbour_facts: int
    question_calls: int
    script_calls: int
    tokens_in: int
    tokens_out: int
    attempts: int
    stages: tuple[StageEstimate, ...] = ()
    cost: float | None = None
    checked: date | None = None
    advice: str = ""
    budget: str = ""
    earlier: str = ""
    alone: str = ""
    answers: int = Field(default=0, exclude=True)

    def sentence(self) -> str:
        """The estimate in words."""
        readings = sum(s.calls for s in self.stages) - self.question_calls - self.script_calls if self.stages else 0
        calls = self.question_calls + self.script_calls + readings
        more_kinds = f", {readings} for the verifier" if readings else ""
        more = f", up to {self.attempts} times as many where items are rejected" if self.attempts > 1 and calls else ""
        lines = [
            f"{counted(self.facts, 'fact')} to edit and {counted(self.neighbour_facts, 'neighbour fact')}: "
            f"{counted(calls, 'call')} "
            f"({self.question_calls} for questions, {self.script_calls} for scripts{more_kinds}){more}; about "
            f"{counted(self.tokens_in, 'token')} in and {self.tokens_out:,} out. "
            "Cached replies are not asked for again."
        ]
        whole = StageEstimate(
            stage="total", calls=calls, tokens_in=self.tokens_in, tokens_out=self.tokens_out, cost=self.cost
        )
        rows = [*self.stages, *([whole] if self.stages else [])]
        width = max((len(s.stage) for s in rows), default=0)
        for s in rows:
            price = f"  ${s.cost:10.4f}" if s.cost is not None else ""
            row = f"  {s.stage:{width}s} {s.calls:9,d} calls {s.tokens_in:13,d} in {s.tokens_out:13,d} out{price}"
            lines.append(row.rstrip())
        return "\n".join([*lines, *(text for text in (self.alone, self.earlier, self.budget, self.advice) if text)])


def estimate(
    work: ConstructionWork,
    plan: ConstructionPlan,
    clients: Mapping[str, DryRunClient],
    accesses: Sequence[Access],
    *,
    earlier: str = "",
) -> ConstructionEstimate:
    """What a rehearsed construction still needs, its tokens at four characters a token.

    Args:
        work: The facts.
        plan: What to construct.
        clients: Each stage's client, which holds what it would ask; the questions first.
        accesses: How each is asked; the first one has the budget.
        earlier: What stands in the store for the same facts.
    """
    stages = [
        StageEstimate(stage=name, **client.missing.estimate(asked.price())._asdict())
        for (name, client), asked in zip(clients.items(), accesses, strict=True)
    ]
    access, price = accesses[0], accesses[0].price()
    unpriced = next((asked.label for asked in accesses if asked.price() is None), None)
    cost = sum(s.cost or 0.0 for s in stages) if unpriced is None else None
    return ConstructionEstimate(
        facts=len(work.edits),
        neighbour_facts=len(work.others),
        question_calls=stages[0].calls,
        script_calls=sum(s.calls for s in stages if s.stage.startswith("scripts")),
        tokens_in=sum(s.tokens_in for s in stages),
        tokens_out=sum(s.tokens_out for s in stages),
        attempts=max(prompt.attempts for prompt in plan.wording().values()),
        stages=tuple(stages),
        cost=cost,
        checked=price.checked if price else None,
        advice=f"No dollars: {how_to_add(unpriced)}." if unpriced else _check_prices(price),
        budget=_compare_with_limits(access, sum(s.tokens_in + s.tokens_out for s in stages), cost),
        earlier=earlier,
        alone=work.alone(),
        answers=sum(client.answers for client in clients.values()),
    )


def _compare_with_limits(limits: Access, tokens: int, cost: float | None) -> str:
    """What the limits mean for work of this size; first attempts only, so a near miss is one, too."""
    over = []
    if limits.max_cost is not None and cost is not None and cost > limits.max_cost:
        over.append(f"--max-cost {limits.max_cost:g}")
    if limits.max_tokens is not None and tokens > limits.max_tokens:
        over.append(f"--max-tokens {limits.max_tokens:,}")
    if not over:
        return ""
    return f"That is more than {' and '.join(over)}: the run would stop there, and go on when the limit is raised."


def _check_prices(price: Price | None) -> str:
    if price is None or not (price.input or price.output):
        return ""
    dollars = f"${price.input:g} in and ${price.output:g} out a million tokens, as of {price.checked}"
    return f"Prices: {dollars}; check them, and give your own with --prices FILE."
