from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from tests.support.curation.published_records import kinds, new_of, of, one

WFD: dict[str, Any] = {
    "subject": {"id": "Q668", "label": "India", "description": "country"},
    "relation": {"id": "P35", "label": "head of state", "description": None},
    "update_prompt": "India's head of state is ____",
    "generalization_prompts": ["The president of India is ____.", "____ is the president of India"],
    "subject_is_ph_new": False, "relation_is_temp_func": True, "is_replace": True, "subject_popularity": 0.5,
    "objects": [
        {"id": "Q2", "label": "Droupadi Murmu", "description": None, "decision": "new"},
        {"id": "Q1", "label": "Ram Nath Kovind", "description": None, "decision": "obsolete"},
    ],
    "neighborhood": [
        {
            "subject": {"id": "Q837", "label": "Nepal", "description": None},
            "objects": [{"object": {"id": "Q3", "label": "Ram Paudel"}, "prompt": "Nepal has ____"}],
            "dist": 0.25,
        }
    ],
}  # fmt: skip


def test_wikifactdiff(tmp_path: Path) -> None:
    import_result = one(tmp_path, WFD, name="f.jsonl")
    fact, neighbour, link = import_result.facts[0], of(import_result, Fact)[0], of(import_result, Neighbour)[0]
    assert (fact.prompt, fact.old.text, new_of(fact)) == ("{}'s head of state is", "Ram Nath Kovind", "Droupadi Murmu")
    assert (fact.change, fact.old.wikidata, fact.paraphrases) == ("temporal", "Q1", ("The president of India is",))
    assert (neighbour.subject.text, neighbour.change, neighbour.prompt) == ("Nepal", "none", "{} has")
    assert (link.how, link.distance, link.edit, link.fact) == ("near_subject", 0.25, fact.key, neighbour.key)
    value = of(import_result, Extra)[0].value
    assert value["subject_popularity"] == 0.5 and value["other_prompts"] == ["____ is the president of India"]
    assert value["descriptions"][0] == "country" and not import_result.problems


def changed(**changes: object) -> dict[str, Any]:
    return {**json.loads(json.dumps(WFD)), **changes}


def test_wikifactdiff_distance_in_either_place_and_equal_objects(tmp_path: Path) -> None:
    near = json.loads(json.dumps(WFD["neighborhood"][0]))
    del near["dist"]
    near["objects"][0]["dist"] = 3
    near["objects"][0]["object"]["label"] = "Ram Nath Kovind"
    near["objects"].append({"object": {"id": "Q9", "label": "B"}, "prompt": "Nepal has ____"})
    import_result = one(tmp_path, changed(neighborhood=[near, {"subject": {"id": "Q7", "label": "X"}, "objects": []}]))
    link = of(import_result, Neighbour)[0]
    assert (link.distance, link.how) == (3.0, "same_object")
    assert [e.name for e in of(import_result, Extra)] == ["fields", "neighbour_objects"]
    assert kinds(import_result) == ["suspect"] and len(import_result.facts) == 1


LITERALS = [
    ("Date", "+2021-01-04", "2021-01-04", "date"),
    ("Year", "2021", "2021", "year"),
    ("Quantity", "+5", "+5", "quantity"),
    ("a person", "Joe", "Joe", "entity"),
]


@pytest.mark.parametrize(("description", "label", "text", "datatype"), LITERALS, ids=[c[0] for c in LITERALS])
def test_wikifactdiff_literals(tmp_path: Path, description: str, label: str, text: str, datatype: str) -> None:
    objects = [{"label": label, "description": description, "decision": "new"}, WFD["objects"][1]]
    new = one(tmp_path, changed(objects=objects)).facts[0].new
    assert new is not None and (new.text, new.datatype, new.wikidata) == (text, datatype, None)


ODD_WFD = [
    ("static", {"objects": [*WFD["objects"], {**WFD["objects"][0], "decision": "static"}]}, ["contradictory", "left"]),
    ("told no replacement", {"is_replace": False}, ["contradictory"]),
    ("gap in the middle", {"update_prompt": "____ leads India", "generalization_prompts": []}, ["malformed"]),
    ("subject not there", {"update_prompt": "It is ____", "generalization_prompts": []}, ["malformed"]),
    ("unknown decision", {"objects": [{**WFD["objects"][0], "decision": "x"}]}, ["malformed"]),
    ("equal objects", {"objects": [WFD["objects"][0], {**WFD["objects"][0], "decision": "obsolete"}]}, ["invalid"]),
    ("only new", {"objects": WFD["objects"][:1], "is_replace": False}, ["left"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "problems"), [c[1:] for c in ODD_WFD], ids=[c[0] for c in ODD_WFD])
def test_wikifactdiff_oddities(tmp_path: Path, changes: dict[str, Any], problems: list[str]) -> None:
    import_result = one(tmp_path, changed(**changes))
    assert kinds(import_result) == problems
    assert len(import_result.facts) == (problems == ["contradictory"])
