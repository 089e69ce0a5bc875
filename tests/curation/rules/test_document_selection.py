from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.rules.explain import explain
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule
from curation.rules.selection import SelectionStream
from curation.splits.errata import Errata, Erratum
from curation.store.store import Store
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import BRIDGE, TRAM, document_case, document_records, document_store

RECORDS = {r.key: r for r in document_records()}
REVERSE = f"{BRIDGE}/What-did-Ada-Brun-design?"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


@pytest.mark.parametrize(
    ("drop", "rule", "errata", "expected"),
    [
        (None, {}, (), {BRIDGE: 4, TRAM: 1}),
        (REVERSE, {}, (), {BRIDGE: 3, TRAM: 1}),
        (TRAM, {}, (), {BRIDGE: 4}),
        (None, {"min_probes": 2}, (), {BRIDGE: 4}),
        (None, {"prefix": "d/tr"}, (), {TRAM: 1}),
        (None, {"min_people": 1}, (), {}),
        (None, {}, (f"case/{TRAM}",), {BRIDGE: 4}),
        (None, {}, (REVERSE,), {BRIDGE: 3, TRAM: 1}),
    ],
)
def test_rule(
    store: Store, drop: str | None, rule: dict[str, object], errata: tuple[str, ...], expected: dict[str, int]
) -> None:
    if drop:
        store.put([make_verdict(RECORDS[drop].id, "drop", "one_blank@1")])
    corrections = Errata([Erratum(item=item, what="wrong", date="2026-11-22") for item in errata])
    rules = DocumentRule.model_validate(rule)
    cases = list(SelectionStream(store, rules, errata=corrections, block=1))
    assert {c.document.key: len(c.probes) for c in cases} == expected
    keys = {c.document.key for c in cases} | {p.key for c in cases for p in c.probes}
    for key in RECORDS:  # what is explained is what the freeze does
        assert (explain(store, rules, key, errata=corrections).status == "in") == (key in keys), key


def test_people_judge_a_whole_case_of_exactly_this_content(store: Store) -> None:
    (case,) = SelectionStream(store, DocumentRule(prefix=BRIDGE))
    assert {p.id for p in case.probes} == {p.id for p in document_case().probes}
    store.put([make_verdict(case.id, "drop", "person:ann/quality@1")])
    assert [c.document.key for c in SelectionStream(store, DocumentRule())] == [TRAM]


def test_a_frozen_split_of_documents_comes_back_and_says_what_was_lost(store: Store) -> None:
    store.put([make_verdict(RECORDS[REVERSE].id, "drop", "one_blank@1")])
    split = freeze(store, "mine", DocumentRule(min_probes=2))
    assert split.type == "document" and split.header["counts"] == {
        "cases": 1,
        "document probe: dropped by one_blank": 1,
        "document: too few probes": 1,
        "documents": 2,
    }
    assert [c.key for c in store.split("mine").all_cases] == [f"case/{BRIDGE}"]
    assert store.split_sizes("mine@1.0.0") == (3, 0)
