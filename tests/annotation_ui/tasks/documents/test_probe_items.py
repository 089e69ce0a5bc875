"""What the tasks about documents read out of a store, and new versions of what they judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation_ui.tasks.probes import level_name, level_of, new_version, probe_items
from curation.store.store import Store
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import BRIDGE, TRAM, document_store, make_document, make_probe


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


def test_a_probe_stands_with_its_document_and_the_other_probes(store: Store) -> None:
    items = {probe.query: item for item, probe in probe_items(store)}
    assert len(items) == 5
    item = items["Who is the author of the Orla Bridge's plans?"]
    assert item.case == BRIDGE and item.stratum == "level 2" and level_of(item) == 2
    assert item.shown["document"] == make_document().text and item.shown["accepted"] == "Brun"
    assert len(item.shown["siblings"].splitlines()) == 3 and item.shown["query"] not in item.shown["siblings"]
    assert item.related[0] == make_document().id and len(item.related) == 4
    alone = items["Line 9 runs to ___."]
    assert alone.case == TRAM and "siblings" not in alone.shown and "accepted" not in alone.shown


def test_checks_take_probes_and_documents_out_people_only_where_asked(store: Store) -> None:
    first = make_probe()
    store.put([make_verdict(first.id, "drop", "person:ann/curate_probe@2")])
    assert len(list(probe_items(store))) == 5 and len(list(probe_items(store, people_too=True))) == 4
    store.put([make_verdict(first.id, "drop", "one_blank@1")])
    items = [item for item, _ in probe_items(store)]
    assert len(items) == 4 and not any(first.query in item.shown.get("siblings", "") for item in items)
    store.put([make_verdict(make_document().id, "drop", "repeats_document@1")])
    assert [item.case for item, _ in probe_items(store)] == [TRAM]


def test_a_level_as_a_stratum_and_back(store: Store) -> None:
    item = next(item for item, _ in probe_items(store))
    for level in (1, 2, 3, None):
        assert level_of(item.model_copy(update={"stratum": level_name(level)})) == level


def test_a_new_version_is_made_of_the_current_one_only(store: Store) -> None:
    item = next(item for item, probe in probe_items(store) if probe.id == make_probe().id)
    assert new_version(store, item, {}) is None and new_version(store, item, {"level": 1}) is None
    second = new_version(store, item, {"level": 2})
    assert second is not None and (second.key, second.level) == (make_probe().key, 2)
    store.put([second])
    assert new_version(store, item, {"level": 3}) is None, "somebody corrected it already"
