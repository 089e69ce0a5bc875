from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from curation.splits.split_file import TYPED, load_split, make_split, write_split
from schemas.cases import Case, DocumentCase, EventCase
from schemas.core.errors import DataError, UserError
from tests.support.documents.records import document_case
from tests.support.events import event_case
from tests.support.facts import peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    split = make_split(
        "s", [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "cab"], details={"counts": {"x": 1}}
    )
    write_split(split, tmp_path / "s.jsonl")
    return tmp_path / "s.jsonl"


def test_round_trip_in_order_of_keys(path: Path) -> None:
    split = load_split(path)
    assert [c.key for c in split.cases] == ["case/a", "case/b", "case/c"]
    assert split.header["counts"] == {"x": 1}
    assert not path.with_name("s.jsonl.partial").exists()


@pytest.mark.parametrize("make", [event_case, document_case])
def test_events_and_documents_are_read_whole_and_in_a_stream(
    tmp_path: Path, make: Callable[[str], EventCase | DocumentCase]
) -> None:
    split = make_split("d", [make("case/a"), make("case/z")])
    write_split(split, tmp_path / "d.jsonl")
    assert json.loads((tmp_path / "d.jsonl").read_text().splitlines()[0])["format"] == TYPED
    back = load_split(tmp_path / "d.jsonl")
    assert back.all_cases == split.all_cases and back.header == split.header
    assert (back.digest, back.type) == (split.digest, split.type)


def test_digest_is_of_the_cases_only() -> None:
    cases = [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "ab"]
    one, two = make_split("s", cases), make_split("t", cases[::-1], version="2.0.0", details={"x": 1})
    assert one.digest == two.digest
    assert make_split("s", cases[:1]).digest != one.digest


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:40]], "line 4"),
        (lambda lines: lines[:-1], "header says 3 cases, 2 are there"),
        (lambda lines: [*lines[:-1], lines[-1].replace("Lima", "Cusco")], "not the frozen cases"),
        (lambda lines: [*lines, lines[-1]], "'case/c' is there twice"),
        (lambda lines: lines[1:], "no header"),
        (lambda lines: [json.dumps({**json.loads(lines[0]), "format": 9}), *lines[1:]], "format 9 is not known"),
    ],
)
def test_spoilt_files_are_refused(path: Path, spoil: Callable[[list[str]], list[str]], message: str) -> None:
    path.write_text("\n".join(spoil(path.read_text().rstrip("\n").split("\n"))))
    with pytest.raises(DataError, match=message):
        load_split(path)


def test_absent_binary_and_empty(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such split"):
        load_split(tmp_path / "x")
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="UTF-8"):
        load_split(tmp_path / "b")
    with pytest.raises(UserError, match="would have no case"):
        make_split("s", [])
