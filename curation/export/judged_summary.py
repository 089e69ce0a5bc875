"""What a store says of a split's items, whatever their type: how they were made, who and what judged them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ItemOrigin:
    """One way in which items were made: stage, model and prompt, number of items, first and last UTC date."""

    stage: str
    model: str | None
    prompt: str | None
    items: int
    first: str
    last: str


@dataclass(frozen=True)
class HumanJudgements:
    """What people said in one task or on one aspect.

    ``acceptance`` (share of judgements that keep, with its exact interval) is given for verdicts; ``alpha``, ``ac1``
    (AC2 with quadratic weights for ordinal ratings) and ``exact`` are estimates in words, an undefined one with its
    reason.
    """

    task: str
    raters: int
    items: int
    judgements: int
    alpha: str
    ac1: str
    exact: str
    labels: Mapping[str, int]
    acceptance: str = ""
    level: str = "nominal"


@dataclass(frozen=True, kw_only=True)
class JudgedSummary:
    """Sources of a split; what the store adds is empty where none was given (``from_store`` False)."""

    sources: Mapping[tuple[str, str, str | None], int]
    from_store: bool = False
    made: tuple[ItemOrigin, ...] = ()
    checks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    people: tuple[HumanJudgements, ...] = ()
    judge_models: Mapping[str, int] = field(default_factory=dict)

    @property
    def licences(self) -> list[str]:
        """Licences of the edits, most frequent first."""
        counts: Counter[str] = Counter()
        for (_, licence, _), n in self.sources.items():
            counts[licence] += n
        return [licence for licence, _ in counts.most_common()]
