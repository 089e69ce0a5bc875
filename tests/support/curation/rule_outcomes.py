"""What a rule makes of the shared records, and that it is explained as it is decided."""

from __future__ import annotations

from typing import NamedTuple

from curation.rules.explain import explain
from curation.rules.rule import SplitRule
from curation.rules.selection import SelectionStream
from curation.splits.versions import Errata
from curation.splits.visible_texts import record_keys
from curation.store.store import Store
from schemas.cases import AnyCase
from schemas.core.records import Record
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.curation.rule_records import BESIDE, EDIT, P0, Q1, said

MEASURED = {"thresholds": [{"check": "dup", "max": 0.4, "clusters": True, "unit": "f"}]}
ALL = (EDIT, P0, Q1, BESIDE[2])


class Selection(NamedTuple):
    """The cases, and how many items were left out for which reason."""

    cases: list[AnyCase]
    counts: dict[str, int]


def choose(store: Store, rule: SplitRule, *, errata: Errata | None = None) -> Selection:
    """All cases that a rule makes of a store."""
    stream = SelectionStream(store, rule, errata=errata)
    return Selection(list(stream), stream.counts)


def kept(store: Store, rule: SplitRule, errata: Errata | None = None) -> str:
    """Which of the edit's prompts stay, as digits; "-" where the edit has no case."""
    cases = [c for c in choose(store, rule, errata=errata).cases if c.fact.key == EDIT.key]
    return "".join((p.question or "?")[-1] for p in cases[0].prompts) if cases else "-"


def agrees(store: Store, rule: SplitRule, errata: Errata | None = None, *, records: tuple[Record, ...] = ALL) -> None:
    """What ``explain`` says of every record is what ``choose`` did with it."""
    keys = {key for case in choose(store, rule, errata=errata).cases for key in record_keys(case)}
    for record in records:
        explained = explain(store, rule, record.key, errata=errata)
        assert (explained.status == "in") == (record.key in keys), explained.text()


def like(left: ScriptQuestion, right: ScriptQuestion, value: float = 0.9) -> Verdict:
    return said(left.id, "dup@1", None, right.id, value=value)
