"""Counts of events or documents while they are constructed: what became of them, and what was lost at which stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from schemas.core.records import Frozen
from schemas.text.counting import counted
from schemas.verdicts import Verdict

C = TypeVar("C", bound=Frozen)


class CountedLoss(Frozen):
    """How often something was lost at a stage, for one reason."""

    stage: str
    reason: str
    count: int


class Tally:
    """Counts what becomes of items, and what is lost at which stage.

    Attributes:
        stages: The stages of the funnel, in its order.
        n: Counts by name.
    """

    stages: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.n: Counter[str] = Counter()
        self._losses: Counter[tuple[str, str]] = Counter()

    def lose(self, stage: str, reason: str, count: int = 1) -> None:
        """Something was lost, so often.

        Raises:
            ValueError: the funnel has no such stage.
        """
        order = self.stages.index(stage)
        if count:
            self._losses[self.stages[order], reason] += count

    def lose_by(self, stage: str, verdicts: Iterable[Verdict]) -> None:
        """Note each verdict against an item, by who gave it."""
        for verdict in verdicts:
            if verdict.label not in ("keep", None):
                who = verdict.check if verdict.judged_by is None else f"people ({verdict.check})"
                self.lose(stage, f"{verdict.label} by {who}")

    def losses(self) -> tuple[CountedLoss, ...]:
        """What was lost, by stage, the commonest first."""
        order = sorted(self._losses.items(), key=lambda item: (self.stages.index(item[0][0]), -item[1], item[0][1]))
        return tuple(CountedLoss(stage=stage, reason=reason, count=count) for (stage, reason), count in order)

    def result(self, kind: type[C], *, calls: int, quality: str | None, **more: Any) -> C:
        """The counts so far, as a funnel of this kind; what is not counted here is given."""
        names = [n for n, field in kind.model_fields.items() if field.annotation is int and n != "calls"]
        counts = {name: self.n[name] for name in names}
        return kind.model_validate({**counts, "losses": self.losses(), "calls": calls, "quality": quality, **more})


def closing_lines(losses: Iterable[CountedLoss], calls: int, *, stored: bool) -> list[str]:
    """The lines below a funnel: what was lost, and the calls.

    Args:
        losses: What was lost.
        calls: Calls made, or cached.
        stored: The funnel was counted from a store.
    """
    lines = [f"  {loss.count:6,d}  {loss.stage:11s} {loss.reason}" for loss in losses]
    title = ["", "Lost, by reason:"] if lines else []
    return [*title, *lines, "", f"{counted(calls, 'call')} {'cached' if stored else 'made'}."]


def percent_of(part: int, whole: int) -> str:
    """A share in percent; nothing where there is no whole.

    Example:
        >>> percent_of(1, 3), percent_of(0, 0)
        ('33.3 %', '')
    """
    return f"{100 * part / whole:.1f} %" if whole else ""
