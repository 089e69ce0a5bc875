"""What a funnel lost, by stage and reason: counted while a construction runs, and shown below its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from schemas.core.records import Frozen
from schemas.text.counting import counted


class CountedLoss(Frozen):
    """How often something was lost at a stage, for one reason."""

    stage: str
    reason: str
    count: int


class LossTally:
    """Counts what is lost.

    Args:
        stages: The stages of the funnel, in its order.
    """

    def __init__(self, stages: tuple[str, ...]) -> None:
        self._stages = stages
        self._losses: Counter[tuple[str, str]] = Counter()

    def lose(self, stage: str, reason: str, count: int = 1) -> None:
        """Something was lost, so often.

        Raises:
            ValueError: the funnel has no such stage.
        """
        order = self._stages.index(stage)
        if count:
            self._losses[self._stages[order], reason] += count

    def listed(self) -> tuple[CountedLoss, ...]:
        """The losses by stage, the commonest first."""
        order = sorted(self._losses.items(), key=lambda item: (self._stages.index(item[0][0]), -item[1], item[0][1]))
        return tuple(CountedLoss(stage=stage, reason=reason, count=count) for (stage, reason), count in order)


def closing_lines(losses: Iterable[CountedLoss], calls: int, *, stored: bool) -> list[str]:
    """The lines below a funnel: what was lost, and the calls.

    Args:
        losses: What was lost.
        calls: Calls made, or on record.
        stored: The funnel was counted from a store.
    """
    lines = [f"  {loss.count:6,d}  {loss.stage:11s} {loss.reason}" for loss in losses]
    title = ["", "Lost, by reason:"] if lines else []
    return [*title, *lines, "", f"{counted(calls, 'call')} {'on record' if stored else 'made'}."]


def percent_of(part: int, whole: int) -> str:
    """A share in percent; nothing where there is no whole.

    Example:
        >>> percent_of(1, 3), percent_of(0, 0)
        ('33.3 %', '')
    """
    return f"{100 * part / whole:.1f} %" if whole else ""
