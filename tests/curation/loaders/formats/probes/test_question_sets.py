"""QAEdit, WikiBigEdit, UltraEditBench: made records of the published shapes (the data themselves are not here)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import LOADERS, detect, load
from schemas.documents.document import DocumentProbe
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one

QAEDIT: dict[str, Any] = {
    "id": 7, "source": "NQ", "prompt": "who wrote the blue lamp?", "target": "Ada *", "subject": "the blue lamp",
    "rephrase": "Who is the author of The Blue Lamp?",
    "locality": [{"loc": "when did it open", "loc_ans": "1994"}, {"loc": "who ruled rovo", "loc_ans": "nobody"}],
}  # fmt: skip
WIKIBIGEDIT: dict[str, Any] = {
    "tag": "update", "subject": "Ada Brun", "relation": "employer", "update": "Who employs Ada Brun?",
    "ans": "Rovo Works", "rephrase": "For whom does Ada Brun work?", "personas": "Arr, who be payin' Ada Brun?",
    "loc": "Who employs Ola Brun?", "loc_ans": "Sorne", "mhop": "Where does the employer of Ada Brun sit?",
    "mhop_ans": "Rovo",
}  # fmt: skip
ULTRA: dict[str, Any] = {
    "case_id": 3, "prompt": "The river Orla flows into the", "subject": "river Orla", "ans": "Sorne Sea",
    "rephrase_prompt": "The mouth of the river Orla is the", "loc": "The Rovo flows into the", "loc_ans": "Orla",
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "name", "groups"),
    [
        (QAEDIT, "qaedit", ["efficacy", "rephrase", "locality", "locality"]),
        (WIKIBIGEDIT, "wikibigedit", ["efficacy", "rephrase", "persona", "hop", "locality"]),
        (ULTRA, "ultraeditbench", ["efficacy", "rephrase", "locality"]),
    ],
)
def test_a_record_is_an_edit_with_its_probes(
    record: dict[str, Any], name: str, groups: list[str], tmp_path: Path
) -> None:
    read = one(tmp_path, record)
    assert read.format == detect(tmp_path / "f.json") == name in LOADERS.names()
    (document,) = read.documents
    assert [p.group for p in of(read, DocumentProbe)] == groups and kinds(read) == []
    assert document.entity == record["subject"] and len(document.statements) == 1
    assert {p.answer for p in of(read, DocumentProbe)[:2]} == {document.statements[0].target}
    assert all(p.document == document.key for p in of(read, DocumentProbe))


def test_questions_stay_questions_and_beginnings_become_clozes(tmp_path: Path) -> None:
    assert [p.query for p in of(one(tmp_path, QAEDIT), DocumentProbe)][2:] == ["when did it open", "who ruled rovo"]
    assert {p.query[-4:] for p in of(one(tmp_path, ULTRA), DocumentProbe)} == {" ___"}


def test_what_probes_do_not_carry_is_an_extra(tmp_path: Path) -> None:
    assert [e.value for e in of(one(tmp_path, WIKIBIGEDIT), Extra)] == [{"tag": "update", "relation": "employer"}]
    assert [e.value for e in of(one(tmp_path, QAEDIT), Extra)] == [{"source": "NQ"}]


def test_missing_hops_and_personas_are_no_probes_and_a_missing_answer_is_counted(tmp_path: Path) -> None:
    read = one(tmp_path, {**WIKIBIGEDIT, "personas": None, "mhop": None, "mhop_ans": None, "loc_ans": ""})
    assert [p.group for p in of(read, DocumentProbe)] == ["efficacy", "rephrase"]
    assert kinds(read) == ["left"] and "1 record: a probe without an answer: left out" in read.problems[0].what


def test_a_subject_that_is_not_in_the_prompt_is_told_and_the_edit_is_kept(tmp_path: Path) -> None:
    read = one(tmp_path, {**QAEDIT, "subject": "blue lamp post"})
    assert read.documents[0].statements == () and read.documents[0].text == "who wrote the blue lamp? Ada *."
    assert "methods for facts cannot edit it" in read.problems[0].what


def test_wikibigedit_as_released_writes_nan_for_what_is_not_there(tmp_path: Path) -> None:
    """The released files hold the bare word NaN, which is no JSON: there it means null, elsewhere it is a fault."""
    empty = {"tag": float("nan"), "mhop": float("nan"), "mhop_ans": float("nan")}
    read = one(tmp_path, {**WIKIBIGEDIT, **empty})
    assert "NaN" in (tmp_path / "f.json").read_text() and read.format == "wikibigedit" and kinds(read) == []
    assert [p.group for p in of(read, DocumentProbe)] == ["efficacy", "rephrase", "persona", "locality"]
    assert [e.value for e in of(read, Extra)] == [{"relation": "employer"}]
    spread = tmp_path / "spread.json"
    spread.write_text(json.dumps([WIKIBIGEDIT | empty], indent=1))
    assert len(load(spread).documents) == 1
    assert kinds(one(tmp_path, QAEDIT, {**QAEDIT, "id": float("nan")})) == ["malformed"]


def test_wikibigedit_as_its_pipeline_writes_it(tmp_path: Path) -> None:
    """Other names for three fields, personas by character. (zsRE, whose ``src`` and ``alt`` these are, has answers.)"""
    names = {"update": "src", "ans": "alt", "personas": "genv2_mixed"}
    record = {names.get(name, name): value for name, value in WIKIBIGEDIT.items()}
    read, released = one(tmp_path, record), one(tmp_path, WIKIBIGEDIT)
    assert read.format == "wikibigedit" and read.records == released.records
    two = one(tmp_path, {**record, "genv2_pirate": "Ahoy, who employs Ada Brun?"})
    assert [p.group for p in of(two, DocumentProbe)].count("persona") == 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"ans": None}, "the field 'ans' must be a text with something in it, it is null"),
        ({"update": " "}, "the field 'update' must be a text with something in it, it is empty"),
        ({"personas": {"a": 1}}, "must be a text"),
    ],
)
def test_a_bad_record_is_one_sentence_and_the_rest_is_read(change: dict[str, Any], what: str, tmp_path: Path) -> None:
    read = one(tmp_path, {**WIKIBIGEDIT, **change}, {**WIKIBIGEDIT, "subject": "Ada", "update": "Who employs Ada?"})
    assert kinds(read) == ["malformed"] and what in read.problems[0].what and len(read.documents) == 1


def test_the_same_edit_twice_is_told(tmp_path: Path) -> None:
    assert kinds(one(tmp_path, QAEDIT, QAEDIT)) == ["duplicate"]
