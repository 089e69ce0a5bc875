"""Facts and whole splits into the store, with the lineage that says where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from curation.splits import Split
from curation.store import Put, Store
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.records import Record


def keep_facts(facts: Iterable[Fact], path: Path, *, origin: str, more: Iterable[Record] = ()) -> Put:
    """Put facts, and what else their file held, into a store (made if need be) with one ``load`` lineage line each."""
    records = (*facts, *more)
    with Store.open(path, create=True) as store:
        return store.put(records, _lineage(records, stage="load", origin=origin))


def keep_split(split: Split, path: Path, *, origin: str) -> Put:
    """Put a frozen split and every record inside its cases into a store (made if need be)."""
    records = {r.id: r for r in split_records(split)}
    with Store.open(path, create=True) as store:
        put = store.put(records.values(), _lineage(records.values(), stage="import", origin=origin))
        store.put_split(split)
    return put


def split_records(split: Split) -> Iterator[Record]:
    """Every fact, question, prompt and neighbour link inside a split's cases."""
    for case in split.cases:
        yield case.fact
        yield from case.questions
        yield from case.prompts
        for neighbour in case.neighbours:
            yield neighbour.link
            yield neighbour.fact
            yield from neighbour.questions
            yield from neighbour.prompts


def _lineage(records: Iterable[Record], *, stage: str, origin: str) -> Iterator[Lineage]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for record in records:
        yield Lineage(item_id=record.id, stage=stage, made_at=now, detail={"from": origin})
