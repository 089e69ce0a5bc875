from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from construction.events.templates import read_templates
from schemas.core.errors import UserError
from tests.support.construction.event_templates import TRANSFER, data, read, table, write


def test_a_file_is_read(tmp_path: Path) -> None:
    contents = read(tmp_path / "t.toml", data())
    assert [t.name for t in contents.template] == ["transfer"]
    assert [e.name for e in contents.of_type("club")] == ["Alba", "Brenta", "Corvo"]
    assert contents.wording("P54").relation.id == "P54" and contents.wording("P1") is None


def change(part: str, *items: Any) -> dict[str, Any]:
    contents = data()
    return {**contents, part: [*contents[part], *items]}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (data(text="{A} met {Z}"), r"t.toml: template.0: the place \{Z\} of the template 'transfer' has no type"),
        (data(text=""), "t.toml: template.0.text: must not be empty"),
        (data(places={"A": "player", "B": "castle"}), "there is no entity of the type 'castle'"),
        (data(untouched=[{"role": "A", "relation": "P19"}]), "no question is worded for the relation 'P19'"),
        (change("template", TRANSFER), "the template 'transfer' stands twice"),
        (change("relation", {"id": "P54", "questions": ["Who is {subject}?"]}), "the relation 'P54' stands twice"),
        (change("entity", {"type": "club", "name": "Alba"}), r"the entity 'Alba \(club\)' stands twice"),
        (change("relation", {"id": "P1", "questions": ["Who is it?"]}), "has the place {subject} and no other"),
        (change("relation", {"id": "P1", "questions": ["{subject} or {B}?"]}), "has the place {subject} and no other"),
        (change("relation", {"id": "P1", "questions": []}), "at least 1 item"),
        (
            change("relation", {"id": "P1", "questions": ["Who is {subject}?"], "background": ["Who is {B}?"]}),
            "has the place {subject} and no other",
        ),
        (change("entity", {"type": "club", "name": "Dora", "frequency": 0}), "greater than 0"),
        ({**data(), "template": []}, "at least 1 item"),
        ({**data(), "sauce": 1}, "unknown field"),
    ],
)
def test_a_faulty_file_is_refused_in_one_sentence(tmp_path: Path, contents: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path / "t.toml", contents)
    assert "\n" not in str(error.value)


def test_a_path_of_which_no_fact_is_known_is_refused(tmp_path: Path) -> None:
    contents = data(impacted=[{"role": "A", "relation": "P118", "object": "B.P118.P17"}])
    with pytest.raises(UserError) as error:
        read(tmp_path / "t.toml", contents)
    assert str(error.value).startswith(f"{tmp_path}/t.toml, template 'transfer': the path 'B.P118.P17' has no fact: ")
    assert "allowed: P118, P27, P54, P641; name a file with such facts: --facts-from FILE" in str(error.value)
    assert read(tmp_path / "t.toml", contents, ("First League", "P17", "Peru")).template


def test_an_absent_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such configuration file"):
        read_templates(tmp_path / "none.toml", table())
    assert write(tmp_path / "t.toml", data()).exists()
