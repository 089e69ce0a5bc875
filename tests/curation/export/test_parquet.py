"""Splits as flat Parquet tables, of facts and of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from curation.export.parquet import EVENT_ROWS, EVENT_TABLES, tables_of_type, text_column, write_parquet
from curation.export.publish import publish
from curation.shipped import mini_split
from curation.splits.split_file import Extras, load_split, make_split
from schemas.extras import Extra
from tests.support.events import event_case, make_event, make_fact_question


def test_extras_go_into_a_table_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    keys = [c.fact.key for c in mini_split().cases[:3]]
    holding = [
        Extra.holding(f"{k}/x", {"n": n, "é": [None]}, subject_key=k, name="hops", depends_on=keys[:n])
        for n, k in enumerate(keys)
    ]
    split = mini_split()._replace(extras=Extras(holding))
    publish(split, tmp_path / "r")
    rows = list(datasets.load_dataset(str(tmp_path / "r"), "extras", split="test", cache_dir=str(tmp_path / "cache")))
    extras = [
        Extra(key=r["extra"], subject_key=r["fact"], depends_on=r["also"], name=r["name"], content=r["content"])
        for r in rows
    ]
    assert extras == holding
    assert load_split(tmp_path / "r" / "mini.jsonl").extras == split.extras
    data = json.loads((tmp_path / "r" / "croissant.json").read_text(encoding="utf-8"))
    assert "extras" in {r["name"] for r in data["recordSet"]}
    card = (tmp_path / "r" / "README.md").read_text(encoding="utf-8")
    assert "- config_name: extras" in card and "### extras" in card
    publish(mini_split(), tmp_path / "without")
    assert not (tmp_path / "without" / "data" / "extras.parquet").exists()


def test_every_column_says_what_is_in_it_and_no_name_stands_twice() -> None:
    for edits in ("fact", "event"):
        for columns in tables_of_type(edits).values():
            assert all(c.about and c.type.removesuffix("[]").isupper() for c in columns)
            assert len({c.name for c in columns}) == len(columns)
    assert text_column("a", "b") == ("a", "VARCHAR", "b")


ROLES = [{"role": "Buyer", "entity": {"text": "Alba Rail"}}, {"role": "B", "entity": {"text": "Brenta Rail"}}]
CASE = event_case(event=make_event(roles=ROLES, template="merger"))


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    records = duckdb.sql(f"SELECT * FROM '{folder / name}.parquet'")
    return [dict(zip(records.columns, row, strict=True)) for row in records.fetchall()]


def test_every_row_has_the_columns_of_its_table() -> None:
    for name, columns in EVENT_TABLES.items():
        rows = list(EVENT_ROWS[name](CASE))
        assert rows and all(len(row) == len(columns) for row in rows)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    assert write_parquet(make_split("s", [CASE]), tmp_path / "data") == 1
    (event,) = rows(tmp_path / "data", "events")
    assert (event["roles"], event["entities"]) == (["Buyer", "B"], ["Alba Rail", "Brenta Rail"])
    assert (event["text"], event["template"], event["licence"]) == (CASE.event.text, "merger", "CC0-1.0")
    facts = rows(tmp_path / "data", "fact_questions")
    assert [(q["text"], q["answer"], q["scope"]) for q in facts] == [
        (q.text, q.answer.text, q.scope) for q in CASE.facts
    ]
    assert all(q["subject"] is None and q["background"] is False for q in facts)
    likely = rows(tmp_path / "data", "tendency_questions")
    assert [q["options"] for q in likely] == [list(q.options) for q in CASE.tendencies]
    assert {q["about_event_subject"] for q in likely} == {None}


@pytest.mark.parametrize("path", [("P118",), ("P54", "P118")])
def test_paths_and_subjects_are_kept(path: tuple[str, ...]) -> None:
    question = make_fact_question(path=path, background=True, subject={"text": "B", "aliases": ["Bb"]})
    (row,) = EVENT_ROWS["fact_questions"](event_case(facts=(question,), tendencies=()))
    fields = dict(zip([c.name for c in EVENT_TABLES["fact_questions"]], row, strict=True))
    assert (fields["path"], fields["background"], fields["subject_aliases"]) == (list(path), True, ["Bb"])
