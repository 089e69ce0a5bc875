"""What a reader says once for a whole file: how many records, and the first place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from curation.loaders.reading import Problem, Row
from schemas.text.counting import counted


class FileNotes:
    """Counts of what is said once for a whole file, with the first place of each.

    Example:
        >>> notes = FileNotes()
        >>> notes.add("have no old object", Row("f, line 3", {}))
        >>> next(notes.problems("f")).what
        '1 record: have no old object (first: f, line 3)'
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, reason: str, row: Row) -> None:
        """Count one more record."""
        self._count[reason] += 1
        self._first.setdefault(reason, row.where)

    def problems(self, where: str, kind: str = "left", of: str = "record") -> Iterator[Problem]:
        """One problem for each reason; ``of``: what was counted."""
        for reason, n in self._count.items():
            yield Problem(where, kind, f"{counted(n, of)}: {reason} (first: {self._first[reason]})")
