from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.splits.split_file import load_split, make_split, write_split
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
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


def test_digest_is_of_the_cases_only() -> None:
    cases = [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "ab"]
    one, two = make_split("s", cases), make_split("t", cases[::-1], version="2.0.0", details={"x": 1})
    assert one.digest == two.digest
    assert make_split("s", cases[:1]).digest != one.digest


def cut_off(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:40]]


def one_less(lines: list[str]) -> list[str]:
    return lines[:-1]


def edited(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].replace("Lima", "Cusco")]


def twice(lines: list[str]) -> list[str]:
    return [*lines, lines[-1]]


def headless(lines: list[str]) -> list[str]:
    return lines[1:]


def future(lines: list[str]) -> list[str]:
    return [json.dumps({**json.loads(lines[0]), "format": 9}), *lines[1:]]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut_off, "line 4"),
        (one_less, "header says 3 cases, 2 are there"),
        (edited, "not the frozen cases"),
        (twice, "'case/c' is there twice"),
        (headless, "no header"),
        (future, "format 9 is not known"),
    ],
)
def test_spoilt_files_are_refused(path: Path, spoil: object, message: str) -> None:
    path.write_text("\n".join(spoil(path.read_text().rstrip("\n").split("\n"))))  # type: ignore[operator]
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
