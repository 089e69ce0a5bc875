from __future__ import annotations

from pathlib import Path

import pytest

from curation.export.elken_format import elken_rows
from curation.export.formats import export
from curation.loaders import load
from curation.loaders.importer import import_file
from curation.rules.release import freeze
from curation.rules.rule import EventRule
from curation.store.store import Store
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
