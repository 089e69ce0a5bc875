"""What a yield consists of: the funnel's stages, reasons, Table 1, lengths, authors."""

from __future__ import annotations

from construction.report.cost import Spending
from schemas.core.records import Frozen


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

    @property
    def early_percent(self) -> float:
        """Prompts cut in step 1, in percent of all prompts that say their step; the paper: 6.75 % before filtering."""
        return 100.0 * self.steps.get(1, 0) / total if (total := sum(self.steps.values())) else 0.0

    @property
    def filtered_percent(self) -> float:
        """Questions of edits that came to no kept prompt though they were wanted, in percent; the paper: 8.23 %.

        Questions that wait for people do not count as filtered.
        """
        stage = next(s for s in self.funnel if s.name == "questions")
        wanted = stage.total - stage.surplus
        return 100.0 * stage.dropped / wanted if wanted else 0.0


PAPER_TABLE = {"counterfactual": (1830, 7342, 13672), "temporal": (1762, 7038, 6597)}
