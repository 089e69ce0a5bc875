"""Contradictory requests: edits that give one fact two different new objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curation.similarity.rouge import plain_text
from schemas.cases import AnyCase
from schemas.facts import Fact


class ContradictoryRequests(NamedTuple):
    """Two requests for one fact, by their places in a series of cases (from 1), and a sentence about them."""

    first: int
    second: int
    text: str


def contradictions(cases: Sequence[AnyCase]) -> list[ContradictoryRequests]:
    """Each case whose fact an earlier case edits to another object, with the nearest such case before it.

    Facts are the same where subject and relation are; objects are the same where they share a name.
    """
    newest: dict[tuple[str, str], int] = {}
    out = []
    for n, case in enumerate(cases, 1):
        fact = case.request
        if not isinstance(fact, Fact) or fact.new is None:
            continue
        key = (plain_text(fact.subject.text), fact.relation.id)
        before = newest.get(key)
        newest[key] = n
        if before is None:
            continue
        other = cases[before - 1].request
        assert isinstance(other, Fact)
        if _names(other) & _names(fact):
            continue
        text = (
            f"'{cases[before - 1].key}' and '{case.key}' contradict each other: {fact.subject.text}, "
            f"{fact.relation.label or fact.relation.id} -> {other.new_object.text} and {fact.new_object.text}"
        )
        out.append(ContradictoryRequests(before, n, text))
    return out


def overwritten(cases: Sequence[AnyCase]) -> dict[int, int]:
    """Places of cases whose edit a later one overwrites, and the place of that later one."""
    return {found.first: found.second for found in contradictions(cases)}


def _names(fact: Fact) -> set[str]:
    return {name.casefold() for name in fact.new_object.names}
