"""The funnel of events or documents: counts by name, and what was lost at which stage for which reason."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from typing_extensions import override

from curation.store.store import Store
from schemas.text.counting import counted
from schemas.verdicts import Verdict

CountRow = tuple[str, int, str]
"""A count in words: its name, the count, a note."""


class Counts:
    """Counts by name, shown as rows or as JSON.

    Attributes:
        names: What is counted, in order.
        width: Characters of the longest name in words.
        n: The counts.
    """

    names: ClassVar[tuple[str, ...]] = ()
    width: ClassVar[int] = 26

    def __init__(self) -> None:
        self.n = dict.fromkeys(self.names, 0)

    def rows(self, *, stored: bool) -> list[CountRow]:
        """The counts in words, the paper's figures beside them.

        Args:
            stored: They are those of a store, which knows of no draws and of no calls that came to nothing.
        """
        raise NotImplementedError

    def lines(self, *, stored: bool = False) -> list[str]:
        """The counts as text."""
        rows = self.rows(stored=stored)
        return [f"  {name:{self.width}s} {count:7,d}  {note}".rstrip() for name, count, note in rows]

    def data(self) -> dict[str, Any]:
        """The counts for JSON."""
        return dict(self.n)

    def as_json(self) -> str:
        """The counts as one line of JSON."""
        return json.dumps(self.data(), ensure_ascii=False, separators=(",", ":"))


class Funnel(Counts):
    """What became of events or documents.

    A run counts what leaves no record (draws, replies of no use); all else is counted from the store.

    Attributes:
        stages: Stages at which something is lost, in order.
        made_by: Stages of lineage that make an item; what came complete from a file or a split has none of them.
        asked_by: Further stages whose calls count.
        n: The counts; ``unfinished`` are calls without an answer so far, ``calls`` those of this run.
        quality: Quality of the text where a model says so.
    """

    stages: ClassVar[tuple[str, ...]] = ()
    made_by: ClassVar[frozenset[str]] = frozenset()
    asked_by: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.n |= {"unfinished": 0, "calls": 0}
        self.quality: str | None = None
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

    def losses(self) -> list[tuple[str, str, int]]:
        """Stage, reason and number of what was lost, by stage, the commonest first."""
        order = sorted(self._losses.items(), key=lambda item: (self.stages.index(item[0][0]), -item[1], item[0][1]))
        return [(stage, reason, count) for (stage, reason), count in order]

    def count(self, store: Store, *, calls: int | None = None) -> None:
        """Count what a store holds, all runs together. A person's verdict outranks those of checks and readers.

        Args:
            store: The store.
            calls: Calls that the run made; left out, those that the store knows.
        """
        made: defaultdict[str, set[str]] = defaultdict(set)
        requests: set[str] = set()
        for line in store.lineages():
            if line.stage in self.made_by:
                made[line.item_id].add(line.stage)
            if line.stage in self.made_by | self.asked_by and line.request:
                requests.add(line.request)
                self.quality = self.quality or line.detail.get("quality")
        self.n["calls"] = len(requests) if calls is None else calls
        self.count_items(store, made)

    def count_items(self, store: Store, made: Mapping[str, set[str]]) -> None:
        """Count the items.

        Args:
            store: The store.
            made: The stages that made an item, by its content id.
        """
        raise NotImplementedError

    @override
    def lines(self, *, stored: bool = False) -> list[str]:
        losses = [f"  {count:6,d}  {stage:11s} {reason}" for stage, reason, count in self.losses()]
        title = ["", "Lost, by reason:"] if losses else []
        calls = f"{counted(self.n['calls'], 'call')} {'cached' if stored else 'made'}."
        return [*super().lines(stored=stored), *title, *losses, "", calls]

    @override
    def data(self) -> dict[str, Any]:
        losses = [{"stage": stage, "reason": reason, "count": count} for stage, reason, count in self.losses()]
        return {**super().data(), "quality": self.quality, "losses": losses}


def percent_of(part: int, whole: int) -> str:
    """A share in percent; nothing where there is no whole.

    Example:
        >>> percent_of(1, 3), percent_of(0, 0)
        ('33.3 %', '')
    """
    return f"{100 * part / whole:.1f} %" if whole else ""
