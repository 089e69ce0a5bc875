"""Checks without a model over what a store already holds, for ``scedit check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from construction.checks.base import Material
from construction.checks.fact_dates import FactDates
from curation.checking import StoreCheck, Surroundings
from schemas.facts import Fact
from schemas.records import Record
from schemas.verdicts import Verdict


class FactDatesInStore(StoreCheck):
    """``fact_dates`` on every fact, beside the other facts of its subject and relation."""

    name: ClassVar[str] = FactDates.name
    version: ClassVar[int] = FactDates.version
    on: ClassVar[str] = "fact"
    about: ClassVar[str] = "are temporal edits dated and in order?"
    batch: ClassVar[int] = 1000

    def judge(self, items: Sequence[Record], around: Surroundings) -> Iterator[Verdict]:
        """One verdict a fact; ``keep`` for one that is no temporal edit."""
        check = FactDates()
        beside: dict[tuple[str, str], list[Fact]] = {}
        for one in around.facts.values():
            if one.change == "temporal":
                beside.setdefault((one.subject.text.casefold(), one.relation.id), []).append(one)
        for item in items:
            fact = around.facts[item.key]
            same = beside.get((fact.subject.text.casefold(), fact.relation.id), [])
            material = Material(fact=fact, facts=tuple(f for f in same if f.key != fact.key))
            yield check.judge(material) if check.applies(material) else self.verdict(fact, "keep", "no temporal edit")
