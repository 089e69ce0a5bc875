"""Reading raw records: places, faults, bounded memory."""

from __future__ import annotations

import codecs
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.loaders.reading import Problem, Row, rows
from schemas.core.errors import DataError, UserError
from tests.support.curation.raw_rows import RECORDS, data, told


def read(path: Path, content: str | bytes) -> list[Row | Problem]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(rows(path))


@settings(max_examples=60, deadline=None)
@given(records=RECORDS, indent=st.sampled_from([None, 0, 1, 4]), cut=st.floats(0, 1))
def test_an_array_is_read_as_python_reads_it_and_where_it_is_cut_its_whole_records(
    records: list[dict[str, object]], indent: int | None, cut: float, tmp_path_factory: object
) -> None:
    path = tmp_path_factory.mktemp("x") / "f.json"  # type: ignore[attr-defined]
    text = json.dumps(records, indent=indent)
    contents, part = read(path, text), read(path, text[: 1 + int(cut * (len(text) - 2))])
    assert data(contents) == records and not told(contents)
    for row in contents:
        assert text.split("\n")[int(row.where.rsplit(" ", 1)[1]) - 1].lstrip(" [").startswith("{")
    assert data(part) == records[: len(data(part))]
    assert [kind for _, kind in told(part)] == ["truncated"]


@pytest.mark.parametrize(
    ("kind", "losses"),
    [("malformed", True), ("invalid", True), ("truncated", True), ("duplicate", True), ("contradictory", False),
     ("suspect", False), ("count", False), ("left", False)],
)  # fmt: skip
def test_which_problems_lose_a_record(kind: str, losses: bool) -> None:
    assert Row("f", {}).problem(kind, "x").lost is losses


@settings(max_examples=40, deadline=None)
@given(records=RECORDS.filter(lambda r: all(r)))
def test_lines_are_read_as_python_reads_them(records: list[dict[str, object]], tmp_path_factory: object) -> None:
    path = tmp_path_factory.mktemp("x") / "f.jsonl"  # type: ignore[attr-defined]
    if records:
        contents = read(path, "\n".join(json.dumps(r, ensure_ascii=False) for r in records))
        assert data(contents) == records and not told(contents)


CASES = [
    (
        "broken record in an array",
        '[\n{"a": 1},\n{"a": },\n{"a": 3}\n]',
        1,
        [("f.json, record 2, line 3", "malformed")],
    ),
    ("broken pretty record", '[\n  {\n    "a": 1 2\n  }\n]', 0, [("f.json, record 1, line 2", "malformed")]),
    ("no comma", '[\n{"a": 1}\n{"a": 2}\n]', 1, [("f.json, line 3", "malformed")]),
    ("a name twice in an array", '[{"a": 1, "a": 2},\n{"a": 3}]', 1, [("f.json, record 1, line 1", "malformed")]),
    ("half a pair", '{"a": "x\\ud800"}\n{"a": "\\ud83d\\ude00 \\\\ud800"}', 1, [("f.json, line 1", "malformed")]),
    ("no record", "[1,\n2]", 0, [("f.json, record 1, line 1", "malformed"), ("f.json, record 2, line 2", "malformed")]),
    ("text behind", '[{"a": 1}] x', 1, [("f.json, line 1", "malformed")]),
    ("not closed", '[\n{"a": 1},\n{"a": 2}\n', 2, [("f.json, line 4", "truncated")]),
    ("cut in a record", '[\n{"a": 1},\n{"a": 2, "b', 1, [("f.json, record 2, line 3", "truncated")]),
    ("hopeless", '[{"a": 1}, {"a" 2}, {"a": 3}]', 1, [("f.json, record 2, line 1", "malformed")]),
    ("a name twice", '{"a": 1, "a": 2}\n{"a": 3}', 1, [("f.json, line 1", "malformed")]),
    ("NaN", '{"a": NaN}\n{"a": 3}', 1, [("f.json, line 1", "malformed")]),
    ("last line cut", '{"a": 1}\n{"a": "x', 1, [("f.json, line 2", "truncated")]),
    ("line cut within", '{"a": 1}\n{"a": "x\n{"a": 2}\n', 2, [("f.json, line 2", "malformed")]),
    ("wrong encoding", b'{"a": "\xe9"}\n{"a": 1}\n', 1, [("f.json, line 1", "malformed")]),
    ("wrong encoding in an array", b'[{"a": "\xe9"},\n{"a": 1}]', 1, [("f.json, record 1, line 1", "malformed")]),
    ("byte-order mark", b'\xef\xbb\xbf{"a": 1}\n', 1, []),
    ("windows lines", b'{"a": 1}\r\n\r\n{"a": 2}\r\n', 2, []),
    ("document", '{\n "a": 1,\n "b": [\n  2\n ]\n}\n', 1, []),
    ("cut document", '{\n "a": 1,\n "b": [\n  2\n', 0, [("f.json, line 1", "truncated")]),
    ("deep", "[" * 5000 + "]" * 5000, 0, [("f.json, record 1, line 1", "malformed")]),
    ("long integer", '{"a": ' + "9" * 5000 + "}", 0, [("f.json, line 1", "malformed")]),
]


@pytest.mark.parametrize(("content", "expected", "problems"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_faults_are_named_by_place(
    tmp_path: Path, content: str | bytes, expected: int, problems: list[tuple[str, str]]
) -> None:
    contents = read(tmp_path / "f.json", content)
    assert len(data(contents)) == expected
    assert told(contents) == problems


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b123", "a gzip file"),
        (b"PK\x03\x04", "a zip file"),
        (b"PAR1", "a Parquet file"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16"),
        *[('{"a": 1}'.encode(name), "but UTF-32") for name in ("utf-32", "utf-32-le", "utf-32-be")],
        (codecs.BOM_UTF32_BE + "[]".encode("utf-32-be"), "but UTF-32"),
        (bytes(20), "not a text file"),
        (b"\x1f\x8b\x08\x00", "a gzip file"),
        (b" \n ", "empty"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path / "f.json", content)
    with pytest.raises(UserError, match="cannot be read"):
        list(rows(tmp_path))


def test_memory_holds_one_line(tmp_path: Path) -> None:
    path, record = tmp_path / "f.json", {"a": "x" * 1000, "b": list(range(20))}
    path.write_text("\n".join([json.dumps(record)] * 8000))
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    count = sum(isinstance(row, Row) for row in rows(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8000
    assert peak < 3_000_000
