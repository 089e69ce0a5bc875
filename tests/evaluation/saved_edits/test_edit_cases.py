"""What an edit is made of: facts, splits; contradictions and empty files are refused, edited neighbours left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.shipped import SHIPPED, mini_split
from evaluation.saved_edits.save import open_edit_cases
from schemas.core.errors import DataError, UserError
from schemas.facts import Fact
from tests.support.facts import make_fact


def written(path: Path, *facts: Fact) -> str:
    path.write_text("".join(json.dumps(f.payload()) + "\n" for f in facts), encoding="utf-8")
    return str(path)


def test_mini_and_its_file_are_the_same_cases() -> None:
    assert [c.key for c in open_edit_cases("mini")] == [
        c.key for c in open_edit_cases(str(SHIPPED / "mini/mini.jsonl"))
    ]
    assert [c.key for c in open_edit_cases("mini", limit=2)] == [c.key for c in mini_split().cases[:2]]
    assert any(c.prompts for c in open_edit_cases("mini"))


def test_facts_without_a_new_object_are_neighbours(tmp_path: Path) -> None:
    source = written(tmp_path / "f.jsonl", make_fact("Peru"), make_fact("Chile", "Santiago", None))
    (case,) = open_edit_cases(source)
    assert case.fact.subject.text == "Peru" and [n.fact.subject.text for n in case.neighbours] == ["Chile"]


def test_edited_facts_are_nobodys_neighbours(tmp_path: Path) -> None:
    facts = [make_fact("Peru"), make_fact("Chile", "Santiago", "Quito"), make_fact("Cuba", "Havana", None)]
    cases = open_edit_cases(written(tmp_path / "f.jsonl", *facts))
    assert len(cases) == 2
    assert {n.fact.subject.text for c in cases for n in c.neighbours} <= {"Cuba"}


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file 'absent.jsonl'"):
        open_edit_cases("absent.jsonl")
    with pytest.raises(UserError, match="no fact has a new object"):
        open_edit_cases(written(tmp_path / "none.jsonl", make_fact("Peru", "Lima", None)))
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        open_edit_cases(str(empty))
    for text in ("[" * 100_000, "\x00\xff", '{"split": 1}'):
        empty.write_text(text, encoding="latin-1")
        with pytest.raises(UserError):
            open_edit_cases(str(empty))
    twice = written(tmp_path / "two.jsonl", make_fact(key="a"), make_fact(key="b", new="Quito"))
    with pytest.raises(UserError, match="'a' and 'b' give one fact two new objects, 'Oslo' and 'Quito'"):
        open_edit_cases(twice)
    with pytest.raises(DataError):
        open_edit_cases(written(tmp_path / "cut.jsonl", make_fact()) and _cut(SHIPPED / "mini/mini.jsonl", tmp_path))


def _cut(split: Path, folder: Path) -> str:
    lines = split.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "cut.split.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    return str(folder / "cut.split.jsonl")
