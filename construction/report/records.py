"""What a yield consists of: the funnel's stages, reasons, Table 1, lengths, authors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from construction.authoring.author import FAILED
from construction.llm.cost.prices import Price, price_of
from construction.llm.replies import known_sum
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
            tokens_in=known_sum(x.tokens_in for x in lines),
            tokens_out=known_sum(x.tokens_out for x in lines),
            cost=_dollars(lines, price(model)),
        )


def answering_models(lineage: Iterable[Lineage]) -> dict[str, tuple[str, ...]]:
    """The models that were asked and answered for by others, each with these."""
    found = sorted({(line.model, line.answered_by) for line in lineage if line.model and line.answered_by})
    return {asked: tuple(by for model, by in found if model == asked) for asked, _ in found}


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


class Stage(Frozen):
    """One step of the funnel: how many items there are, and how they stand."""

    name: str
    total: int
    kept: int
    unsure: int = 0
    surplus: int = 0

    @property
    def dropped(self) -> int:
        """Neither kept, unsure nor surplus."""
        return self.total - self.kept - self.unsure - self.surplus


class CheckFindings(Frozen):
    """Items of one kind that one check does not keep: how many, what it asks, examples (key, reason, text)."""

    kind: str
    check: str
    label: str
    about: str
    count: int
    examples: tuple[tuple[str, str, str], ...]


class Table1(Frozen):
    """A line of ScEdit's Table 1 for one kind of edit, from what every check keeps.

    Attributes:
        change: ``counterfactual`` (ScEdit-CF) or ``temporal`` (ScEdit-T).
        cases: Edits with at least one kept prompt, the fact itself kept, too.
        efficacy: Their kept script prompts ("S-Eff.").
        specificity: Kept script prompts of their neighbours, once for each edit ("S-Spec.").
        paper: The paper's three numbers: published data, after its filtering by people.
    """

    change: str
    cases: int
    efficacy: int
    specificity: int
    paper: tuple[int, int, int]


class Length(Frozen):
    """Mean, minimum and maximum of something counted over the kept items."""

    name: str
    mean: float
    least: int
    most: int


class AuthorLine(Frozen):
    """Scripts of one author model, and how their prompts stand; a text that two authors wrote counts for both."""

    author: str
    scripts: int
    kept: int
    unsure: int
    dropped: int


class StoreYield(Frozen):
    """All of it.

    Attributes:
        steps: Prompts by the step that was cut.
        elsewhere: Prompts in the store that were not constructed there (a split that was added, say); not counted.
        answered: Models that were asked and answered for by others, each with these.
        quality: Quality of the text where a model says so (``plumbing``).
    """

    store: str
    funnel: tuple[Stage, ...]
    reasons: tuple[CheckFindings, ...]
    table: tuple[Table1, ...]
    lengths: tuple[Length, ...]
    steps: dict[int, int]
    authors: tuple[AuthorLine, ...]
    spending: tuple[Spending, ...]
    elsewhere: int
    quality: str | None
    answered: dict[str, tuple[str, ...]]

    def stage(self, name: str) -> Stage:
        """The step of the funnel with this name."""
        return next(s for s in self.funnel if s.name == name)

    @property
    def early_percent(self) -> float:
        """Prompts cut in step 1, in percent of all prompts that say their step; the paper: 6.75 % before filtering."""
        return 100.0 * self.steps.get(1, 0) / total if (total := sum(self.steps.values())) else 0.0

    @property
    def filtered_percent(self) -> float:
        """Questions of edits that came to no kept prompt though they were wanted, in percent; the paper: 8.23 %.

        Questions that wait for people do not count as filtered.
        """
        stage = self.stage("questions")
        wanted = stage.total - stage.surplus
        return 100.0 * stage.dropped / wanted if wanted else 0.0


PAPER_TABLE = {"counterfactual": (1830, 7342, 13672), "temporal": (1762, 7038, 6597)}
