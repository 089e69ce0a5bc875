"""What no record may hold is refused for every format; invisible ends of texts are removed, and that is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.base import InvalidRecord, check_record, is_date
from curation.loaders.importer import import_file
from schemas.core.errors import DataError
from schemas.facts import Object
from schemas.scripts import Script
from tests.support.facts import make_fact, peru_fact

CELLS = {"subject": "Peru", "relation": "P36", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}


def write(folder: Path, form: str, **changes: str) -> Path:
    cells = {**CELLS, **changes}
    if form == "csv":
        (path := folder / "f.csv").write_text(",".join(cells) + "\n" + ",".join(cells.values()) + "\n")
        return path
    (path := folder / "f.jsonl").write_text(json.dumps(cells) + "\n")
    return path


FAULTS: list[tuple[dict[str, str], str]] = [
    ({"relation": ""}, "the field 'relation' must be a text with something in it, it is empty"),
    ({"subject": ""}, "the field 'subject' must be a text with something in it, it is empty"),
    ({"prompt": ""}, "the field 'prompt' must be a text with something in it, it is empty"),
    ({"old": " "}, "the field 'old' must be a text with something in it, it is empty"),
    ({"changed_on": "in 2021"}, "changed_on: 'in 2021' is no date"),
    ({"changed_on": "2021-13-45"}, "changed_on: '2021-13-45' is no date"),
    ({"old": "Lima<|endoftext|>"}, "old: the control token <|endoftext|>"),
    ({"prompt": "[INST] The capital of {} is"}, "prompt: the control token [INST]"),
    ({"new": "Oslo</s>"}, "new: the control token </s>"),
]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(("changes", "text"), FAULTS)
def test_faults_are_named_by_line_and_field(tmp_path: Path, form: str, changes: dict[str, str], text: str) -> None:
    path = write(tmp_path, form, **changes)
    (problem,) = load(path).problems
    assert problem.lost and text in problem.what and f"line {2 if form == 'csv' else 1}" in problem.where
    with pytest.raises(DataError) as error:
        import_file(str(path), tmp_path / "s.duckdb", skip_bad=True)
    assert "1 record left out" in str(error.value) and text in str(error.value)
    assert not (tmp_path / "s.duckdb").exists()


@pytest.mark.parametrize("fact", [
    make_fact(old=Object(text="Lima", aliases=("oslo",)), new="Oslo"),
    make_fact(old="Lima", new=Object(text="Oslo", aliases=("LIMA",))),
])  # fmt: skip
def test_an_object_among_the_names_of_the_other(fact: Any) -> None:
    with pytest.raises(InvalidRecord, match="nothing would be edited"):
        check_record(fact)


def test_good_records_pass() -> None:
    for record in (peru_fact(), peru_fact(change="temporal", changed_on="2021-12"), make_fact(new=None)):
        check_record(record)
    with pytest.raises(InvalidRecord, match="steps: the control token <.im_end.>"):
        check_record(Script(key="s", question="q", steps=("Look up <|im_end|>",)))
    assert is_date("2024-02-29") and not is_date("2023-02-29")


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff", "\u00ad"])
def test_invisible_characters_at_an_end_go_and_are_said(tmp_path: Path, sign: str) -> None:
    loaded = load(write(tmp_path, "jsonl", new=f"Oslo{sign}", prompt=f"{sign}The capital of {{}} is"))
    (fact,) = loaded.facts
    assert fact.new is not None and (fact.new.text, fact.prompt) == ("Oslo", "The capital of {} is")
    assert [p.what for p in loaded.problems] == ["invisible characters at an end of new, prompt were removed"]


def test_relations_of_signs_alone_are_different_relations(tmp_path: Path) -> None:
    first, second = (load(write(tmp_path, "csv", relation=sign)).facts[0] for sign in ("???", "->"))
    assert first.relation.id != second.relation.id and "x" not in (first.relation.id, second.relation.id)
