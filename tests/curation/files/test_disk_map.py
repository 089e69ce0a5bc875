"""What a map on the disk says is what a dictionary would say, however little memory it has."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.files.disk_map import DiskMap
from schemas.core.errors import UserError

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)


@settings(max_examples=50, deadline=None)
@given(pairs=st.lists(st.tuples(NUMBERS, st.text(max_size=3)), max_size=30), limit=st.integers(1, 5))
def test_the_first_word_of_a_number_holds(pairs: list[tuple[int, str]], limit: int) -> None:
    disk_map, twin = DiskMap(limit=limit), dict[int, str]()
    for number, value in pairs:
        assert disk_map.first(number, value) == twin.get(number)
        twin.setdefault(number, value)
    assert {n: disk_map.get(n) for n in twin} == twin


def test_numbers_are_new_once() -> None:
    disk_map = DiskMap(limit=2)
    assert [disk_map.add(n) for n in (5, 6, 7, 5, 8, 7, 9)] == [True, True, True, False, True, False, True]
    assert disk_map.get(10) is None


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(place: str) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    disk_map = DiskMap(limit=1)
    disk_map.add(1)
    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(UserError, match="temporary file cannot be written: database or disk is full; .*TMPDIR"):
        disk_map.add(2)
