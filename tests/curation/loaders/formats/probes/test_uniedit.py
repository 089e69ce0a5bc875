"""UniEdit: chains of steps as probes; which consequence each asks for (made records of the published shape)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from schemas.documents.document import DocumentProbe
from tests.support.curation.published_records import of

FORWARD, BACKWARD, NEXT = (
    ["h_e", "r_e", "t_e", "f", "s"],
    ["t_e", "r_e", "h_e", "b", "s"],
    ["t_e", "r_1", "e_1", "f", "s"],
)
ADA = {"id": "Q1", "label": "Ada", "aliases": ["A."]}
ROVO = {"datatype": "wikibase-item", "value": {"id": "Q2", "label": "Rovo", "aliases": ["R."]}}
BORN = {"id": "P19", "label": "place of birth"}
EDIT = {"prompt": "Ada was born in", "target": "Rovo", "subject": "Ada", "head_entity": ADA, "property": BORN,
        "tail_entity": ROVO}  # fmt: skip
STEP = {**EDIT, "path": ["h_e", "r_e", "t_e"]}
OTHER = {"prompt": "Rovo lies in", "target": "Sorne", "subject": "Rovo", "path": ["t_e", "r_1", "e_1"],
         "head_entity": {"id": "Q2"}, "property": {"id": "P17"}, "tail_entity": {"datatype": "string"}}  # fmt: skip


def chain(steps: list[dict[str, Any]], paths: list[list[str]], **more: Any) -> dict[str, Any]:
    return {"prompt": "It is", "target": "x", "path_type": "single", "one_hops": steps, "paths": paths, **more}


def read_one(tmp_path: Path, side: str, asked: dict[str, Any]) -> DocumentProbe:
    other = "locality" if side == "generality" else "generality"
    record = {"edit": EDIT, side: {"0": asked}, other: {}}
    path = tmp_path / "biology.json"
    path.write_text(json.dumps({"12": record}), encoding="utf-8")
    read = load(path)
    assert read.format == "uniedit" and not read.problems and read.documents[0].key.startswith("uniedit/biology/12/")
    efficacy, probe = of(read, DocumentProbe)
    assert efficacy.group == "efficacy" and efficacy.answer == "Rovo"
    assert isinstance(probe, DocumentProbe)
    return probe


@pytest.mark.parametrize(
    ("asked", "group", "tags"),
    [
        (chain([STEP], [FORWARD]), "rephrase", ()),
        (chain([{**STEP, "subject": "A."}], [FORWARD]), "alias", ()),
        (chain([{**STEP, "target": "R."}], [FORWARD]), "alias", ()),
        (chain([STEP], [BACKWARD]), "logical", ("reverse",)),
        (chain([STEP, OTHER], [FORWARD, NEXT]), "hop", ("multi_hop",)),
    ],
)
def test_generality_by_its_paths(asked: dict[str, Any], group: str, tags: tuple[str, ...], tmp_path: Path) -> None:
    probe = read_one(tmp_path, "generality", asked)
    assert (probe.group, probe.tags, probe.query) == (group, tags, "It is ___")
    assert [p.answers for p in probe.premises] == ([("Sorne",)] if group == "hop" else [])


def test_a_step_that_is_walked_backward_is_a_premise_in_that_direction(tmp_path: Path) -> None:
    """A chain that goes from a country to its towns needs to know these, not the country of a town."""
    back = {"reverse_in_multi_hop": True, "reversed": {"prompt": "A town in Sorne is", "target": "Rovo"}}
    for more, query, answer in (
        (back, "A town in Sorne is ___", "Rovo"),
        ({**back, "reverse_in_multi_hop": False}, "Rovo lies in ___", "Sorne"),
        ({"reverse_in_multi_hop": True}, "Rovo lies in ___", "Sorne"),
    ):
        probe = read_one(tmp_path, "generality", chain([STEP, {**OTHER, **more}], [FORWARD, NEXT]))
        assert [(p.query, p.answers) for p in probe.premises] == [(query, (answer,))]


def test_two_chains_are_compared_by_yes_or_no(tmp_path: Path) -> None:
    asked = {"prompt": "Same?", "target": "Yes", "path_type": "double",
             "single_path1": {"one_hops": [STEP], "paths": [FORWARD]},
             "single_path2": {"one_hops": [OTHER], "paths": [NEXT]}}  # fmt: skip
    probe = read_one(tmp_path, "generality", asked)
    assert (probe.group, probe.tags, probe.query) == ("logical", ("comparison",), "Same? The answer is (Yes/No):")


@pytest.mark.parametrize(
    ("step", "group"),
    [(OTHER, "locality"), ({**OTHER, "head_entity": ADA, "property": BORN}, "forgetfulness"),
     ({**OTHER, "head_entity": ADA}, "locality")],
)  # fmt: skip
def test_locality_and_other_objects_of_the_edited_relation(step: dict[str, Any], group: str, tmp_path: Path) -> None:
    probe = read_one(tmp_path, "locality", chain([step], [NEXT]))
    assert (probe.group, probe.premises) == (group, ())


def test_a_record_without_a_chain_is_malformed_and_named(tmp_path: Path) -> None:
    path = tmp_path / "art.json"
    bad = {"edit": EDIT, "generality": {"0": {"prompt": "It is", "target": "x"}}, "locality": {}}
    path.write_text(json.dumps({"a": bad, "b": 3, "c": {**bad, "generality": {}}}), encoding="utf-8")
    read = load(path, "uniedit")
    assert [(p.kind, "art.json" in p.where) for p in read.problems] == [("malformed", True), ("malformed", True)]
    assert len(read.documents) == 1
