from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit
from curation.splits.split_file import make_split, write_split
from schemas.core.errors import UserError
from tests.curation.checks.test_scope_readable import cases


def invoke(*args: object) -> str:
    result = CliRunner().invoke(scedit.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)
    return result.output


def test_the_command_tells_each_part(tmp_path: Path) -> None:
    path, other = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    some = cases(message=True, number=15)
    write_split(make_split("x", some[:10]), path)
    write_split(make_split("y", some[10:]), other)
    result = invoke("split", "scope-readable", path, "--folds", 2)
    assert "facts      scope   from wording              AUC " in result and "n=40, 10 events" in result
    rows = [
        json.loads(line) for line in invoke("split", "scope-readable", path, "--train", other, "--jsonl").splitlines()
    ]
    assert {row["events"] for row in rows} == {10}
    assert {row["part"] for row in rows} == {"wording", "options", "key", "relation", "wording and options"}


def test_a_split_of_facts_has_no_scope() -> None:
    with pytest.raises(UserError, match="mini: its edits are no events"):
        invoke("split", "scope-readable", "mini")
