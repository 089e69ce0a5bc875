"""Pools of questions: the shipped one, files of several shapes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.runs.specificity_building import open_pool
from schemas.core.errors import DataError, UserError


def write_rows(folder: Path, *rows: Any) -> str:
    path = folder / "pool.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_the_shipped_pool_is_free() -> None:
    pool = open_pool("shipped", licence="mine")
    assert len(pool.questions) == 1670 and pool.source.licence == "CC0-1.0"


def test_rows_of_trivia_qa_and_of_ours(tmp_path: Path) -> None:
    trivia = {"question": " Who? ", "question_id": "tc 1", "answer": {"value": "Ada", "aliases": ["Ada", "Lovelace"]}}
    own = {"query": "It lies in ___.", "item": "lake", "answers": ["Peru", " Peru "]}
    released = {"id": 7, "query": "Where?", "answer": " Oslo"}
    pool = open_pool(write_rows(tmp_path, trivia, own, released), licence="CC BY 4.0")
    assert [tuple(question) for question in pool.questions] == [
        ("tc_1", "Who?", ("Ada", "Lovelace")),
        ("lake", "It lies in ___.", ("Peru",)),
        ("7", "Where?", ("Oslo",)),
    ]
    assert (pool.source.name, pool.source.licence) == ("pool.jsonl", "CC BY 4.0")


def test_an_answer_that_stands_in_its_query_does_not_count(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "query": "Is Oslo it?", "answers": ["Oslo", "Norway"]},
        {"id": "b", "query": "Oslo?", "answer": "oslo"},
    ]
    assert [tuple(q) for q in open_pool(write_rows(tmp_path, *rows)).questions] == [("a", "Is Oslo it?", ("Norway",))]
    with pytest.raises(DataError, match="no question that a model could be asked"):
        open_pool(write_rows(tmp_path, rows[1]))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"id": "a", "query": "Who?"}, "not a question with answers"),
        ({"id": "a", "query": " ", "answer": "b"}, "not a question with answers"),
        ({"query": "Who?", "answer": "b"}, "not a question with answers"),
        ({"id": "a", "query": "Who?", "answers": [" ", 3]}, "not a question with answers"),
        ([1], "not a question"),
    ],
)
def test_what_is_no_question_is_one_sentence(tmp_path: Path, row: Any, fault: str) -> None:
    with pytest.raises(DataError, match=fault) as error:
        open_pool(write_rows(tmp_path, row))
    assert "pool.jsonl" in str(error.value) and "allowed: a query" in str(error.value)


def test_a_name_stands_once_and_the_file_is_there(tmp_path: Path) -> None:
    row = {"id": "a", "query": "Who?", "answer": "b"}
    with pytest.raises(DataError, match="'a' is there twice"):
        open_pool(write_rows(tmp_path, row, row))
    with pytest.raises(UserError, match="no such file"):
        open_pool(str(tmp_path / "none.jsonl"))
