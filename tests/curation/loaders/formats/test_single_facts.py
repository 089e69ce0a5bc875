"""Published formats with one fact a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from schemas.extras import Extra
from tests.support.curation.importable_files import SHORT, write
from tests.support.curation.published_records import kinds, new_of, of, one

COUNTERFACT = {
    "case_id": 7,
    "pararel_idx": 1,
    "requested_rewrite": {
        "prompt": "The mother tongue of {} is",
        "relation_id": "P103",
        "target_new": {"str": "English", "id": "Q1860"},
        "target_true": {"str": "French", "id": "Q150"},
        "subject": "Danielle Darrieux",
    },
    "paraphrase_prompts": ["a", "b "],
    "neighborhood_prompts": ["c"],
    "attribute_prompts": [],
    "generation_prompts": [],
}

COUNTERFACT_FLAT = {
    "case_id": 0, "prompt": "The mother tongue of Danielle Darrieux is", "target_new": "English",
    "subject": "Danielle Darrieux", "ground_truth": "French", "rephrase_prompt": "x y", "locality_prompt": "z",
    "locality_ground_truth": "French",
}  # fmt: skip


def test_a_whole_record_comes_back_as_it_was(tmp_path: Path) -> None:
    first = load(write(tmp_path / "a.jsonl", SHORT)).facts[0]
    reloaded = load(write(tmp_path / "b.jsonl", first.model_dump_json())).facts[0]
    assert reloaded.id == first.id


def test_counterfact_shapes_agree(tmp_path: Path) -> None:
    one = load(write(tmp_path / "a.json", "[", json.dumps(COUNTERFACT), "]"))
    two = load(write(tmp_path / "b.json", "[", json.dumps(COUNTERFACT_FLAT), "]"))
    assert (one.format, two.format) == ("counterfact", "counterfact-flat")
    a, b = one.facts[0], two.facts[0]
    assert (a.prompt, a.old.text, a.new) == (b.prompt, b.old.text, a.new)
    assert a.key == "counterfact/7" and a.old.wikidata == "Q150" and a.paraphrases == ("a", "b")
    assert b.neighbour_prompts == ("z",)
    assert b.relation.id.startswith("template:")


KNOWEDIT: dict[str, Any] = {
    "subject": "Leo Arons",
    "prompt": "What is the death place of Leo Arons?",
    "target_new": "Cologne",
    "ground_truth": [["Berlin", "Berlin, Germany"], ["Berlin"]],
    "rephrase_prompt": "Where did Leo Arons die?",
    "portability": {"Reasoning": [{"prompt": "x", "ground_truth": [["y"]]}], "Empty": []},
    "locality": {"Relation_Specificity": [{"prompt": "z", "ground_truth": [["w"]]}]},
}


def test_an_edit_with_its_probes(tmp_path: Path) -> None:
    import_result = one(tmp_path, KNOWEDIT, format="knowedit")
    (fact,) = import_result.facts
    assert (fact.prompt, fact.old.text, new_of(fact)) == ("What is the death place of {}?", "Berlin", "Cologne")
    assert fact.old.aliases == ("Berlin, Germany",) and fact.paraphrases == ("Where did Leo Arons die?",)
    assert {e.name: e.value for e in of(import_result, Extra)} == {
        "portability/Reasoning": KNOWEDIT["portability"]["Reasoning"],
        "locality/Relation_Specificity": KNOWEDIT["locality"]["Relation_Specificity"],
    }
    assert kinds(import_result) == []


@pytest.mark.parametrize(
    ("reasoning", "names"),
    [
        ([{"prompt": "x", "ground_truth": [["y"]]}], ["portability/Script"]),
        ([{"prompt": "x", "ground_truth": [["z"]]}], ["portability/Script", "portability/Reasoning"]),
        ([{"prompt": "x.", "ground_truth": "y"}], ["portability/Script", "portability/Reasoning"]),
        ([{"prompt": "x", "ground_truth": "y"}] * 2, ["portability/Script", "portability/Reasoning"]),
        ([{"prompt": "x", "ground_truth": "y", "step": 1}], ["portability/Script", "portability/Reasoning"]),
        (["x"], ["portability/Script", "portability/Reasoning"]),
    ],
)
def test_only_a_list_that_repeats_ours_is_left_out(tmp_path: Path, reasoning: list[Any], names: list[str]) -> None:
    script = [{"prompt": "x", "ground_truth": "y"}]
    record = {**KNOWEDIT, "portability": {"Script": script, "Reasoning": reasoning}, "locality": {}}
    import_result = one(tmp_path, record, format="knowedit")
    assert {e.name for e in of(import_result, Extra)} == set(names)


def test_without_an_old_object_nothing_is_edited(tmp_path: Path) -> None:
    (fact,) = one(tmp_path, {**KNOWEDIT, "ground_truth": []}, format="knowedit").facts
    assert (fact.old.text, fact.new, fact.change) == ("Cologne", None, "none")


def test_a_new_object_among_the_right_answers_is_refused(tmp_path: Path) -> None:
    import_result = one(tmp_path, {**KNOWEDIT, "ground_truth": ["Berlin", "COLOGNE"]}, KNOWEDIT, format="knowedit")
    assert len(import_result.facts) == 1
    assert [p.kind for p in import_result.problems if p.lost] == ["invalid"]
    assert "nothing would be edited" in import_result.problems[0].what


def test_one_object_of_tasks_is_as_many_records(tmp_path: Path) -> None:
    tasks = {"recent": KNOWEDIT, "broken": 3, "other": {**KNOWEDIT, "subject": "Leo", "prompt": "Leo is from"}}
    import_result = one(tmp_path, tasks, format="knowedit")
    assert [f.subject.text for f in import_result.facts] == ["Leo Arons", "Leo"]
    assert kinds(import_result) == ["malformed"] and import_result.problems[0].where.endswith("broken")


def test_a_passage_is_no_fact(tmp_path: Path) -> None:
    passage = {"text": "This is a Wikipedia passage about john russell reynolds.", "concept": "J", "labels": "He was"}
    import_result = one(tmp_path, passage, format="knowedit")
    assert not import_result.facts and [e.name for e in of(import_result, Extra)] == ["passage"]
    assert of(import_result, Extra)[0].value == passage


KNOWN: dict[str, Any] = {
    "known_id": 7,
    "subject": "Vinson Massif",
    "attribute": "Antarctica",
    "template": "{} is located in the continent",
    "prediction": " of Antarctica.",
    "prompt": "Vinson Massif is located in the continent of",
    "relation_id": "P30",
}


def test_the_prompt_before_the_object_is_the_fact_prompt(tmp_path: Path) -> None:
    import_result = one(tmp_path, KNOWN, format="known-1000")
    (fact,) = import_result.facts
    assert (fact.key, fact.prompt) == ("known-1000/7", "{} is located in the continent of")
    assert (fact.old.text, fact.new, fact.change) == ("Antarctica", None, "none")
    (extra,) = of(import_result, Extra)
    assert extra.value == {"template": KNOWN["template"], "prediction": KNOWN["prediction"]}
    assert kinds(import_result) == ["suspect"] and "lacks words" in import_result.problems[0].what


def test_a_template_that_is_the_prompt_is_no_problem(tmp_path: Path) -> None:
    full_record = {**KNOWN, "template": "{} is located in the continent of"}
    assert kinds(one(tmp_path, full_record, format="known-1000")) == []


def test_records_that_lack_something_are_left_out(tmp_path: Path) -> None:
    strange = {**KNOWN, "known_id": 8, "subject": "Mont Blanc"}
    empty = {**KNOWN, "known_id": 9, "attribute": ""}
    import_result = one(tmp_path, KNOWN, strange, empty, format="known-1000")
    assert [f.key for f in import_result.facts] == ["known-1000/7"]
    assert sum(p.lost for p in import_result.problems) == 2


MQUAKE = {
    "prompt": "{} was performed by", "relation_id": "P175", "target_new": {"str": "Madonna", "id": "Q1744"},
    "target_true": {"str": "The Beatles", "id": "Q1299"}, "subject": "Hey Jude", "question": "Who performed Hey Jude?",
}  # fmt: skip


def test_mquake_keeps_an_edit_once_and_the_case_whole(tmp_path: Path) -> None:
    first = {"case_id": 1, "requested_rewrite": [MQUAKE, {**MQUAKE, "subject": "Yesterday"}], "answer": "x"}
    clash = {**MQUAKE, "target_new": {"str": "Sony", "id": "Q41187"}}
    import_result = one(tmp_path, first, {"case_id": 2, "requested_rewrite": [MQUAKE, clash]}, {**first, "answer": "y"})
    assert import_result.format == "mquake" and len(import_result.facts) == 3
    extras = of(import_result, Extra)
    assert extras[0].value == first
    assert [extras[0].subject_key, *extras[0].depends_on] == [f.key for f in import_result.facts[:2]]
    assert extras[1].subject_key == import_result.facts[0].key
    assert kinds(import_result) == ["contradictory", "duplicate"]
    assert "to 'Madonna', this one to 'Sony'" in import_result.problems[0].what


def test_the_remastered_form_writes_its_objects_flat(tmp_path: Path) -> None:
    """MQuAKE-Remastered as its own reader takes it: ``target_new_str`` beside ``target_new`` of the first release."""
    flat = {name: value for name, value in MQUAKE.items() if not name.startswith("target")}
    flat |= {"target_new_str": "Madonna", "target_true_str": "The Beatles"}
    import_result = one(tmp_path, {"case_id": 1, "requested_rewrite": [flat], "answer": "x"})
    (fact,) = import_result.facts
    assert (fact.old.text, fact.new.text, fact.new.wikidata) == ("The Beatles", "Madonna", None)
    assert fact.key == one(tmp_path, {"case_id": 1, "requested_rewrite": [MQUAKE], "answer": "x"}).facts[0].key


def test_an_object_that_is_none_is_told_by_its_field(tmp_path: Path) -> None:
    import_result = one(tmp_path, {"case_id": 1, "requested_rewrite": [{**MQUAKE, "target_new": "Madonna"}]})
    assert not import_result.facts
    assert "target_new' must be an object, it is a text" in import_result.problems[0].what


def test_relation_lists(tmp_path: Path) -> None:
    samples = [("Peru", "Lima"), ("Peru", "Cusco"), ("Peru", "Lima"), ("Chad", " N'Djamena ")]
    data = {
        "name": "capital", "prompt_templates": ["{} has", "The capital of {} is"], "prompt_templates_zs": ["What?"],
        "properties": {"symmetric": False}, "samples": [{"subject": s, "object": o} for s, o in samples],
    }  # fmt: skip
    path = tmp_path / "capital.json"
    path.write_text(json.dumps(data, indent=2))
    import_result = load(path)
    assert [f.old.text for f in import_result.facts] == ["Lima", "Cusco", "N'Djamena"]
    assert import_result.facts[0].paraphrases == ("The capital of Peru is",) and import_result.facts[0].change == "none"
    assert kinds(import_result) == ["contradictory", "duplicate"]
    assert [p.where for p in import_result.problems] == [f"{path}, sample 2", f"{path}, sample 3"]
    assert of(import_result, Extra)[0].value == {k: v for k, v in data.items() if k != "samples"}


def test_all_relation_lists(shared: Path) -> None:
    files = sorted((shared / "data" / "relations" / "factual").glob("*.json"))
    import_result = [load(path) for path in files]
    assert len(files) == 21
    assert sum(len(x.facts) + sum(p.lost for p in x.problems) for x in import_result) == 5809


ZSRE = {
    "subject": "UniFirst", "src": "What is made by UniFirst?", "pred": "uniform", "rephrase": "What makes UniFirst?",
    "alt": "aircraft", "answers": ["uniform", "uniforms"], "loc": "nq question: x", "loc_ans": "y",
    "cond": "uniform >> aircraft || What is made by UniFirst?",
}  # fmt: skip


def test_zsre(tmp_path: Path) -> None:
    import_result = one(tmp_path, ZSRE, {**ZSRE, "src": "Who is UniFirst?", "alt": "Uniforms"}, {**ZSRE, "pred": "x"})
    fact = import_result.facts[0]
    assert (fact.prompt, fact.old.names, new_of(fact)) == ("What is made by {}?", ("uniform", "uniforms"), "aircraft")
    assert kinds(import_result) == ["invalid", "duplicate", "contradictory", "suspect"]
    assert of(import_result, Extra)[0].value == {"pred": "uniform", "loc": "nq question: x", "loc_ans": "y"}
    assert len(import_result.facts) == 1
