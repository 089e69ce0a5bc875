"""JSON files read in one piece: which line is at fault, and that only a newline ends a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.json_files import json_lines, read_json, read_text, write_array, write_lines
from schemas.core.errors import DataError, UserError

UNICODE_LINE_ENDS = "one\u2028two\u2029three\u0085four"


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"text": UNICODE_LINE_ENDS}, {"text": "plain"}]
    assert write_lines(rows, path) == 2
    assert UNICODE_LINE_ENDS in path.read_text(encoding="utf-8"), "the characters stand there as they are"
    assert [(n, value) for n, _, value in json_lines(path)] == [(1, rows[0]), (2, rows[1])]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_numbers_count_empty_lines(tmp_path: Path, end: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(f"1{end}{end}  {end}[2]".encode())
    assert list(json_lines(path)) == [(1, f"{path}, line 1", 1), (4, f"{path}, line 4", [2])]
    assert [value for _, _, value in json_lines(path, "3\n4")] == [3, 4], "a text that was read already"


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("1\n{\n")
    with pytest.raises(DataError, match=r"x\.jsonl, line 2: not JSON: "):
        list(json_lines(path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(UserError, match="there is no such sheet; make one"):
        read_text(path, "sheet", fix="make one")
    with pytest.raises(UserError, match="there is no such file"):
        read_json(path)
    with pytest.raises(DataError, match="the file cannot be read: Is a directory"):
        read_json(tmp_path)
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(DataError, match="the file is not"):
        read_json(path)
    path.write_text("{")
    with pytest.raises(DataError, match="not readable as JSON: .*; export it again"):
        read_json(path, fix="export it again")
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [("[" * 100_000 + "]" * 100_000, "its values lie too deep in one another"), ("9" * 5000, "a number is too long")],
    ids=["deep", "long"],
)
def test_what_python_does_not_read_is_one_sentence(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match=f"not readable as JSON: {why}$"):
        read_json(path)
    with pytest.raises(DataError, match=f"line 1: not JSON: {why}$"):
        list(json_lines(path))


def test_rows_as_an_array(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert write_array([], path) == 0 and read_json(path) == []
    assert write_array([{"a": "é"}, {"b": 2}], path) == 2
    assert path.read_text(encoding="utf-8") == '[\n{"a": "é"},\n{"b": 2}\n]\n'
    assert read_json(path) == [{"a": "é"}, {"b": 2}]
