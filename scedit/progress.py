"""Progress as bars of tqdm, in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from construction.llm.cost.budget import Budget
    from construction.pipeline.runner import ConstructionProgress
    from evaluation.runs.progress import EditorProgress


def bar(label: str, total: int, unit: str, *, shown: bool, begun: int = 0) -> Any:
    """A bar of tqdm, of which ``begun`` was there before and counts for no rate."""
    from tqdm.auto import tqdm

    return tqdm(desc=label, total=total, unit=f" {unit}", disable=not shown, initial=begun)


class ConstructionBar:
    """Facts that are finished, with calls and what was spent.

    Args:
        facts: How many there are.
        shown: Whether anybody looks.
    """

    def __init__(self, facts: int, *, shown: bool) -> None:
        self._bar = bar("construct", facts, "facts", shown=shown)

    def watch(self, notes: Callable[[], Iterable[str]]) -> None:
        """Nothing more is shown than the budget knows."""

    def facts(self, progress: ConstructionProgress) -> None:
        """Facts were finished."""
        self._bar.update(progress.done - self._bar.n)

    def tick(self, budget: Budget) -> None:
        """Show how things stand."""
        self._bar.set_postfix_str(f"{budget.activity.answers:,} answers, {budget.sentence()}")

    def end(self, budget: Budget) -> None:
        """Show how things stand in the end."""
        self.tick(budget)
        self._bar.close()


class RunBars:
    """One bar a method: cases that are finished.

    Args:
        shown: Whether anybody looks.
    """

    def __init__(self, *, shown: bool) -> None:
        self._bars: dict[str, Any] = {}
        self._shown = shown

    def __call__(self, event: EditorProgress) -> None:
        """A case was finished."""
        shown = self._bars.get(event.label)
        if shown is None:
            shown = bar(event.label, event.total, "cases", shown=self._shown, begun=event.resumed)
            self._bars[event.label] = shown
        shown.update(event.done - shown.n)
        notes = [f"{event.resumed} found finished"] if event.resumed else []
        notes += [f"{event.failed} failed"] if event.failed else []
        shown.set_postfix_str(", ".join([*notes, *([event.note] if event.note else [])]))
        if event.done == event.total:
            shown.close()
