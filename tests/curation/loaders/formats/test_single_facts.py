"""Published formats with one fact a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.formats.scedit import split_prompt
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt, ScriptQuestion
from tests.support.curation.importable_files import write
from tests.support.curation.published_records import CF, kinds, new_of, of, one

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


T: dict[str, Any] = {
    "case_id": 0, "subject": "Chad", "relation": "head of state", "prompt": "Chad is led by", "old_update": "Idriss",
    "new_update": "Mahamat", "question": ["How to meet the leader of Chad? Step 1: Go Step 2: Greet"],
    "neighborhood": [{"object": "Biya", "prompt": "Cameroon is led by", "question": "How to greet?\nStep 1: Call"}],
}  # fmt: skip


def test_scedit_cf(tmp_path: Path) -> None:
    import_result = one(tmp_path, CF)
    fact, (near,) = import_result.facts[0], of(import_result, Fact)
    prompt, other = of(import_result, ScriptPrompt)
    assert (fact.key, fact.prompt, fact.relation.id) == ("scedit-cf/5", "The {} is in", "location")
    assert (prompt.text, prompt.separator, prompt.step, prompt.targets) == (
        CF["rephrase_prompts"][0],
        " ",
        2,
        ("Paris", "Rome"),
    )
    assert [q.text for q in of(import_result, ScriptQuestion)] == ["How to go?", "How to see the Louvre?"]
    assert prompt.question == of(import_result, ScriptQuestion)[0].key
    assert (other.text, other.separator) == ("How to see the Louvre?\nStep 1: Go to", " (")
    assert near.fact_prompt == other.text and near.old == fact.old and other.fact == near.key
    assert of(import_result, Neighbour)[0].how == "same_object" and not of(import_result, Extra)
    (problems,) = import_result.problems
    assert problems.kind == "left" and "1 record: a neighbour is published without its subject" in problems.what


TOLERATED = [
    ("step is a number", {"interrupt_step": 2}, 2, set()),
    ("step is text", {"interrupt_step": "Step 3:"}, 3, set()),
    ("step not understood", {"interrupt_step": {"a": 1}}, 2, {"interrupt_step"}),
    ("another number of steps", {"interrupt_step": [1, 2, 3]}, 2, {"interrupt_step"}),
    ("property not understood", {"property": ["a"]}, 2, {"property"}),
    ("unknown field", {"note": "x"}, 2, {"note"}),
    ("older name", {"rephrase_prompts": None, "rephrase_prompt": CF["rephrase_prompts"]}, 2, set()),
    ("template", {"prompt": "The {} is in"}, 2, set()),
]


@pytest.mark.parametrize(("changes", "step", "extras"), [c[1:] for c in TOLERATED], ids=[c[0] for c in TOLERATED])
def test_scedit_cf_is_tolerant(tmp_path: Path, changes: dict[str, Any], step: int, extras: set[str]) -> None:
    data = {k: v for k, v in {**CF, **changes}.items() if v is not None}
    import_result = one(tmp_path, data, format="scedit-cf")
    assert kinds(import_result) == ["left"] and import_result.facts[0].prompt == "The {} is in"
    assert of(import_result, ScriptPrompt)[0].step == step
    assert {name for e in of(import_result, Extra) for name in e.value} == extras


@pytest.mark.parametrize("record", [CF, T], ids=["cf", "t"])
def test_keys_end_in_the_case_id_where_it_can_stand_there(tmp_path: Path, record: dict[str, Any]) -> None:
    import_result = one(tmp_path, *({**record, "case_id": n} for n in [0, "b", "007", "a b", "", 0]))
    keys = [f.key.rpartition("/")[2] for f in import_result.facts]
    assert keys == ["0", "b", "007", "3-of-file", "4-of-file", "5-of-file"]
    assert kinds(import_result).count("suspect") == 3


def test_scedit_t(tmp_path: Path) -> None:
    import_result = one(tmp_path, T)
    fact, (near,) = import_result.facts[0], of(import_result, Fact)
    assert (fact.change, fact.old.text, new_of(fact)) == ("temporal", "Idriss", "Mahamat")
    assert (near.subject.text, near.prompt, near.old.text) == ("Cameroon", "{} is led by", "Biya")
    assert of(import_result, Neighbour)[0].how == "near_subject"
    prompt, other = of(import_result, ScriptPrompt)
    assert (prompt.step, other.step, other.targets) == (2, 1, ("Biya",))
    assert of(import_result, ScriptQuestion)[0].text == "How to meet the leader of Chad?"
    odd = one(tmp_path, {**T, "neighborhood": ["x"], "sliced_question": ["How? Step 1: A"]}, format="scedit-t")
    assert kinds(odd) == ["suspect"] and of(odd, Extra)[0].value == {"neighborhood_not_understood": ["x"]}
    assert of(odd, ScriptPrompt)[0].text == "How? Step 1: A"


CUTS = [
    ("How?\nStep 1: Go to", "How?", "How?\nStep 1: Go to", " ", 1),
    ("How? Step 1: A Step 12: Go to ", "How?", "How? Step 1: A Step 12: Go to", " ", 12),
    ('How?\nStep 1: Type "', "How?", "How?\nStep 1: Type", ' "', 1),
    ('How?\nStep 1: Type "x"', "How?", 'How?\nStep 1: Type "x"', " ", 1),
    ("How?\nStep 1: Look\n", "How?", "How?\nStep 1: Look", "\n", 1),
    ("No steps here", "No steps here", "No steps here", " ", None),
]


def test_an_example_of_the_paper_that_is_no_object_is_named(tmp_path: Path) -> None:
    read = one(tmp_path, {"construction_example": None, "case_study": {}}, format="scedit-paper")
    assert kinds(read) == ["malformed", "malformed"]
    assert read.problems[0].what == "an object is expected, not null" and "case_study" in read.problems[1].where


@pytest.mark.parametrize(("text", "question", "before", "separator", "step"), CUTS, ids=[c[0] for c in CUTS])
def test_cut(text: str, question: str, before: str, separator: str, step: int | None) -> None:
    assert split_prompt(text) == (question, before, separator, step)


def test_ripple(tmp_path: Path) -> None:
    query = {"prompt": "The name of the mother of Ann Lee is", "subject_id": "Q5"}
    edit = {
        "prompt": "The gender of Ann Lee is male.", "subject_id": "Q5", "relation": "SEX_OR_GENDER", "target_id": "Q6",
        "original_fact": {"prompt": "The gender of Ann Lee is female.", "target_id": "Q7"},
    }  # fmt: skip
    data = {
        "example_type": "random",
        "edit": edit,
        "Relation_Specifity": [{"test_queries": [query]}],
        "Forgetfulness": [],
    }
    recent = {"example_type": "recent", "edit": {**edit, "original_fact": None}, "Subject_Aliasing": []}
    record = {**edit, "prompt": "The name of the sex or gender of Bo is X.", "original_fact": None}
    import_result = one(tmp_path, data, recent, {"example_type": "recent", "edit": {**record, "subject_id": "Q8"}})
    fact = import_result.facts[0]
    assert (fact.subject.text, fact.prompt, fact.old.text, new_of(fact)) == (
        "Ann Lee",
        "The gender of {} is",
        "female",
        "male",
    )
    assert [e.name for e in of(import_result, Extra)[:2]] == ["edit", "Relation_Specificity"]
    assert of(import_result, Extra)[1].value == data["Relation_Specifity"]
    assert kinds(import_result) == ["malformed", "left"] and "subject cannot be told" in import_result.problems[0].what
    assert (import_result.facts[1].subject.text, import_result.facts[1].old.text, import_result.facts[1].new) == (
        "Bo",
        "X",
        None,
    )


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
