"""What the calls of a construction cost, by stage and model, from the lineage of what they brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from construction.authoring.author import FAILED
from construction.llm.cost.prices import Price, price_of
from schemas.core.records import Frozen
from schemas.lineage import Lineage


class Spending(Frozen):
    """Calls of one stage with one model.

    Attributes:
        stage: ``questions``, ``scripts``, ``verify`` ...
        calls: Different requests; repairs of one count with it.
        failed: Those that brought nothing (refused, unreadable, not in the format); their tokens count.
        tokens_in, tokens_out: As the endpoint counted; None where it counted nothing.
        cost: US dollars: as noted with the call, else by the price table; None where no price is known.
    """

    stage: str
    model: str
    calls: int
    failed: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None


def sum_spending(lineage: Iterable[Lineage], prices: Path | None = None) -> Iterator[Spending]:
    """Sums over requests: one call brings several questions, and two items may come of one reply.

    Args:
        lineage: Any lines; those without a request are passed over.
        prices: A price table that goes before ours.
    """
    calls: dict[tuple[str, str], dict[str, Lineage]] = {}
    for line in lineage:
        if line.request and line.model:
            stage = str(line.detail.get("of", line.stage)) if line.stage == FAILED else line.stage
            known = calls.setdefault((stage, line.model), {})
            if line.request not in known or known[line.request].stage == FAILED:
                known[line.request] = line

    @lru_cache
    def price(model: str) -> Price | None:
        return price_of(model, table=prices)

    for (stage, model), by_request in sorted(calls.items()):
        lines = list(by_request.values())
        yield Spending(
            stage=stage,
            model=model,
            calls=len(lines),
            failed=sum(x.stage == FAILED for x in lines),
            tokens_in=_sum(x.tokens_in for x in lines),
            tokens_out=_sum(x.tokens_out for x in lines),
            cost=_dollars(lines, price(model)),
        )


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _dollars(lines: Iterable[Lineage], price: Price | None) -> float | None:
    total = 0.0
    for line in lines:
        if line.cost is not None:
            total += line.cost
        elif price is not None:
            total += price.cost(line.tokens_in or 0, line.tokens_out or 0)
        else:
            return None
    return total
