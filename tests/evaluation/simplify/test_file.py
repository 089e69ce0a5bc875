"""Statements of a released file: found by a document's words; a file of other documents is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.simplify.editor import SimplifiedEditor
from evaluation.simplify.file import FileStatements, GivenStatements
from schemas.core.errors import UserError
from schemas.documents.statement import Statement
from tests.support.documents.records import TRAM, make_document
from tests.support.tiny import make

BRIDGE = make_document("mine/bridge")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    told = {"prompt": "{} opened in", "subject": "The Orla Bridge", "input": "The Orla Bridge opened in"}
    rows = [
        {
            "doc": BRIDGE.text,
            "id": "theirs",
            "meta": {},
            "probes": [],
            "simplification": [{**told, "target": " 1931"}, {**told, "target": ""}],
        }
    ]
    out = tmp_path / "documents.json.lmqg_ner"
    out.write_text(json.dumps(rows), encoding="utf-8")
    return out


def reader(path: Path) -> FileStatements:
    return FileStatements(FileStatements.Params(file=path))


def test_statements_of_the_document_with_these_words(path: Path) -> None:
    made = reader(path)
    made.check([BRIDGE])
    assert [(s.strategy, s.filled_prompt, s.target) for s in made.simplify(BRIDGE)] == [
        ("lmqg_ner", "The Orla Bridge opened in", "1931"),
        ("lmqg_ner", "The Orla Bridge opened in", ""),
    ]


def test_a_file_of_other_documents_and_none_at_all_are_refused(path: Path) -> None:
    other = make_document(TRAM, "Line 9 runs to Rovo.")
    with pytest.raises(UserError, match=r"does not hold 1 of 2 documents of the run, such as 'd/tram'"):
        reader(path).check([BRIDGE, other])
    with pytest.raises(UserError, match="no such simplification file"):
        _ = reader(path.with_name("none")).identity


@pytest.mark.parametrize("prompt", ["The Orla Bridge opened in", "{} opened {} in"])
def test_a_prompt_without_exactly_one_gap_is_said_where_it_stands(path: Path, prompt: str) -> None:
    """Not that the document is missing, though the record that holds it cannot be used."""
    (row,) = json.loads(path.read_text(encoding="utf-8"))
    bad = {**row, "simplification": [{**row["simplification"][0], "prompt": prompt}]}
    other = {**row, "id": "other", "doc": "Line 9 runs to Rovo."}
    mixed = path.with_name("mixed.json.lmqg_ner")
    mixed.write_text(json.dumps([other, bad]), encoding="utf-8")
    with pytest.raises(UserError, match=r"mixed.*: a record cannot be used: .*exactly one \{\}.*; mend it") as error:
        reader(mixed).check([BRIDGE])
    assert "does not hold" not in str(error.value) and "\n" not in str(error.value)
    reader(mixed).check([make_document(TRAM, "Line 9 runs to Rovo.")])  # no document of the run is lost


def test_a_file_of_the_documents_without_statements_is_refused(path: Path) -> None:
    """The published documents themselves, named instead of one of their simplifications: nothing would be edited."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    del rows[0]["simplification"]
    bare = path.with_name("documents.json")
    bare.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(UserError, match="the simplification file holds no statement"):
        reader(bare).check([BRIDGE])


def test_another_file_is_another_identity(path: Path) -> None:
    first = reader(path).identity
    path.write_text(path.read_text(encoding="utf-8").replace("1931", "1932"), encoding="utf-8")
    assert reader(path).identity != first == f"file@1:{first[-12:]}"


STATED = Statement(subject="Orla Bridge", prompt="The {} is in", target="Rovo")
STATING = make_document(statements=(STATED, STATED.model_copy(update={"target": "Sorne"})))


def test_statements_in_order() -> None:
    made = list(GivenStatements().simplify(STATING))
    assert [(s.key, s.filled_prompt, s.target) for s in made] == [
        ("d/bridge/stated/0", "The Orla Bridge is in", "Rovo"),
        ("d/bridge/stated/1", "The Orla Bridge is in", "Sorne"),
    ]
    assert list(GivenStatements().simplify(make_document())) == []


def test_documents_that_state_nothing_are_refused_together_not_one_by_one() -> None:
    GivenStatements().check([make_document(), STATING])
    GivenStatements().check([])
    with pytest.raises(UserError, match=r"none of the 1 documents says what it states, such as 'd/bridge'"):
        GivenStatements().check([make_document()])


def test_one_text_with_other_statements_is_not_given_the_first_ones(tmp_path: Path) -> None:
    method = make_editor("ft", make("llama"), Cache(tmp_path), {"layer": 1})
    for _ in range(2):
        made = SimplifiedEditor(method, GivenStatements())
        for document in (STATING, make_document(statements=(STATED,)), make_document()):
            assert made.statements(document) == tuple(GivenStatements().simplify(document))
