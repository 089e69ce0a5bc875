"""The tables of a split of events lose nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from curation.export.events.event_tables import EVENT_ROWS, EVENT_TABLES
from curation.export.parquet import write_parquet
from curation.splits.split_file import make_split
from tests.support.events import event_case, make_event, make_fact_question

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
