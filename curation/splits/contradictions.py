"""Facts that contradict each other, and contradictory requests: edits of one fact to two different new objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from schemas.cases import AnyCase
from schemas.core.plain_text import plain_text
from schemas.facts import Fact


def disagreement(name: str, earlier: tuple[str, str | None], later: tuple[str, str | None]) -> str:
    """What a fact says against a later one of the same subject and relation, in a clause; empty where they agree.

    Args:
        name: The fact, in words.
        earlier: Its old and new object.
        later: Those of the other one.

    Example:
        >>> disagreement("'b'", ("Cusco", None), ("Lima", "Oslo"))
        "'b' says 'Cusco' for this subject and relation, this one 'Lima'"
    """
    (old, new), (old_here, new_here) = earlier, later
    if old.casefold() != old_here.casefold():
        return f"{name} says '{old}' for this subject and relation, this one '{old_here}'"
    if new and new_here and new.casefold() != new_here.casefold():
        return f"{name} edits this subject and relation to '{new}', this one to '{new_here}'"
    return ""


class ContradictoryRequests(NamedTuple):
    """Two requests for one fact, by their places in a series of cases (from 1), and a sentence about them."""

    first: int
    second: int
    text: str


class ContradictionFinder:
    """Finds contradictory requests while cases come; it holds a line for each fact.

    Facts are the same where subject and relation are; objects are the same where they share a name.

    Attributes:
        found: Each case whose fact an earlier case edits to another object, with the nearest such case before it.
    """

    def __init__(self) -> None:
        self.found: list[ContradictoryRequests] = []
        self._newest: dict[tuple[str, str], tuple[int, str, tuple[str, ...]]] = {}
        self._place = 0

    def add(self, case: AnyCase) -> AnyCase:
        """Look at the next case; returns it."""
        self._place += 1
        fact = case.request
        if not isinstance(fact, Fact) or fact.new is None:
            return case
        pair = (plain_text(fact.subject.text), fact.relation.id)
        before = self._newest.get(pair)
        self._newest[pair] = (self._place, case.key, fact.new.names)
        if before is not None and not _folded(before[2]) & _folded(fact.new.names):
            place, key, names = before
            text = (
                f"'{key}' and '{case.key}' contradict each other: {fact.subject.text}, "
                f"{fact.relation.label or fact.relation.id} -> {names[0]} and {fact.new.text}"
            )
            self.found.append(ContradictoryRequests(place, self._place, text))
        return case


def contradictions(cases: Iterable[AnyCase]) -> list[ContradictoryRequests]:
    """The contradictory requests of cases, in order."""
    finder = ContradictionFinder()
    for case in cases:
        finder.add(case)
    return finder.found


def overwritten(cases: Iterable[AnyCase]) -> dict[int, int]:
    """Places of cases whose edit a later one overwrites, and the place of that later one."""
    return {found.first: found.second for found in contradictions(cases)}


def _folded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}
