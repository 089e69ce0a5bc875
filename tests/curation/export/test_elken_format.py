from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.export.elken_format import elken_rows
from curation.export.formats import EXPORTERS, export
from curation.loaders import load
from curation.loaders.importer import import_file
from curation.rules.release import freeze
from curation.rules.rule import EventRule
from curation.shipped import mini_split
from curation.splits.split_file import load_split, make_split, open_split, write_split
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.events import event_case

CASE = event_case()


def test_a_record_has_the_published_fields() -> None:
    (row,) = elken_rows([CASE])
    assert list(row) == ["event_type", "event", "tendency", "fact"]
    assert [q["answer"]["name"] for q in row["fact"]["qas"]] == ["Alba Rail", "unknown"]
    assert row["fact"]["local_qas"][0]["answer"] == {"id": "NA", "name": "Genoa", "alias": []}
    assert "type" in row["fact"]["qas"][0] and "type" not in row["fact"]["local_qas"][0]
    assert row["tendency"]["local_qas"] == [
        {
            "question": "How may rainfall in Genoa change?",
            "candidate": "(A) They rise (B) They fall (C) They stay as they are",
            "answer": "C",
        }
    ]


def test_only_events_go_into_the_shape_and_only_our_own_takes_both(tmp_path: Path) -> None:
    events, facts = make_split("e", [CASE]), make_split("f", mini_split().cases[:2])
    for name in EXPORTERS.names():
        assert EXPORTERS.get(name).holds(events) == (name in ("split", "elken", "parquet", "datasets")), name
    assert not EXPORTERS.get("elken").holds(facts)
    with pytest.raises(UserError, match="'e' has no case that counterfact can hold"):
        export(events, tmp_path / "x.json", "counterfact")


def test_a_split_file_of_events_is_read_whole_and_in_a_stream(tmp_path: Path) -> None:
    split, path = make_split("e", [CASE, event_case("case/z")]), tmp_path / "e.jsonl"
    write_split(split, path)
    assert json.loads(path.read_text().splitlines()[0])["format"] == 3
    for reader_function in (load_split, open_split):
        back = reader_function(path)
        assert list(back.all_cases) == list(split.all_cases) and back.digest == split.digest and back.type == "event"
        assert back.header == split.header


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_published_file_comes_back_record_by_record(shared: Path, tmp_path: Path, part: str) -> None:
    source, store = shared / f"data/elken/{part}.json", tmp_path / "s.duckdb"
    import_file(str(source), store)
    with Store.open(store, write=True) as db:
        split = freeze(db, "e", EventRule())
        assert export(split, tmp_path / "out.json", "elken") == len(split.all_cases)
    before, after = load(source), load(tmp_path / "out.json")
    keys = {e.key for e in before.events} - {e.key for e in after.events}
    assert not {r.event for r in before.records if hasattr(r, "event")} & keys
    assert {r.id for r in after.records} == {r.id for r in before.records}
    assert {e.id for e in after.events} <= {e.id for e in before.events} and len(keys) <= 1
