from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.loaders import load
from curation.loaders.jsonl_writer import line_of, write_records
from schemas.facts import Fact
from tests.support.facts import make_fact
from tests.support.hostile_text import NAMES, hostile_fact


@pytest.mark.parametrize("text", list(NAMES.values()), ids=list(NAMES))
def test_a_record_is_one_line_whatever_it_holds(text: str) -> None:
    fact = hostile_fact(text.strip())
    line = line_of(fact)
    assert "\n" not in line
    data = json.loads(line)
    assert data.pop("kind") == "fact" and Fact.model_validate(data) == fact


def test_lines_are_read_back_in_order(tmp_path: Path) -> None:
    facts = [make_fact(f"Land{n}") for n in (2, 0, 1)]
    assert write_records(facts, tmp_path / "f.jsonl") == 3
    assert load(tmp_path / "f.jsonl", "jsonl").facts == tuple(facts)


def test_nothing_to_write_is_an_empty_file(tmp_path: Path) -> None:
    assert write_records([], tmp_path / "f.jsonl") == 0
    assert (tmp_path / "f.jsonl").read_text() == ""


def test_a_source_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    def broken() -> Iterator[Fact]:
        yield make_fact()
        raise RuntimeError("the source broke off")

    (tmp_path / "f.jsonl").write_text("before")
    with pytest.raises(RuntimeError):
        write_records(broken(), tmp_path / "f.jsonl")
    assert (tmp_path / "f.jsonl").read_text() == "before" and len(list(tmp_path.iterdir())) == 1
