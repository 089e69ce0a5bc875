"""Benchmarks whose probes ask for the consequences of an edit."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import LOADERS, detect, load
from curation.loaders.formats.probes import GivenEdit
from schemas.documents.document import DocumentProbe
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one


@pytest.mark.parametrize(
    ("subject", "prompt", "gapped"),
    [
        ("Chad", "The capital of Chad is", "The capital of {} is"),
        ("davey crocket", "What did Davey Crocket call his rifle", "What did {} call his rifle"),
        ("A+", "Is A+ better than A+?", "Is {} better than A+?"),
        ("US", "The industry of the US is", "The industry of the {} is"),
        ("Al", "Alps near Al are", "Alps near {} are"),
        ("us", "The US gave us", "The US gave {}"),
        ("it", "Its author It is", "Its author {} is"),
        ("O'Neil", "What is O'Neil's team?", "What is {}'s team?"),
        ("東京", "東京の市長は", "{}の市長は"),
    ],
)
def test_the_first_mention_of_the_subject_is_the_gap(subject: str, prompt: str, gapped: str) -> None:
    statement = GivenEdit(subject, prompt, "x").statement
    assert statement is not None and statement.prompt == gapped
    assert statement.text == f"{prompt} x."


@pytest.mark.parametrize(
    ("subject", "prompt"),
    [("Peru", "The capital of Chad is"), ("Chad", "In {Chad} lies"), ("US", "The industry of Chad is")],
)
def test_no_statement_where_methods_for_facts_could_not_edit_it(subject: str, prompt: str) -> None:
    assert GivenEdit(subject, prompt, "x").statement is None


MQUAKE_EDIT: dict[str, Any] = {
    "prompt": "{} was performed by", "relation_id": "P175", "target_new": {"str": "Madonna", "id": "Q1744"},
    "target_true": {"str": "The Beatles", "id": "Q1299"}, "subject": "Hey Jude", "question": "Who performed Hey Jude?",
}  # fmt: skip
HOPS = [
    {"question": "Who performed Hey Jude?", "cloze": "Hey Jude was performed by", "answer": "Madonna",
     "answer_alias": ["Madonna Ciccone"]},
    {"question": "Where was Madonna born?", "cloze": "Madonna was born in", "answer": "Bay City", "answer_alias": []},
]  # fmt: skip
MQUAKE: dict[str, Any] = {
    "case_id": 4, "requested_rewrite": [MQUAKE_EDIT],
    "questions": ["Where was the performer of Hey Jude born?", "And where?"],
    "answer": "Liverpool", "new_answer": "Bay City", "new_answer_alias": ["Bay City, Michigan"],
    "new_single_hops": HOPS,
}  # fmt: skip
QUERY = {"prompt": "The spouse of Ada is", "answers": [{"value": "Ola", "aliases": ["Ola B."]}], "subject_id": "Q1"}
RIPPLE: dict[str, Any] = {
    "example_type": "popular",
    "edit": {
        "prompt": "The name of the mother of Ada is Una.", "subject_id": "Q1", "relation": "MOTHER", "target_id": "Q2",
        "original_fact": {"prompt": "The name of the mother of Ada is Ina.", "target_id": "Q3"},
    },
    "Compositionality_I": [{"test_queries": [QUERY, {**QUERY, "answers": []}], "condition_queries": [QUERY]}],
    "Forgetfullness": [{"test_queries": [QUERY]}],
}  # fmt: skip
KNOWEDIT: dict[str, Any] = {
    "subject": "Ada", "prompt": "The mother of Ada is", "target_new": "Una", "ground_truth": [["Ina", "Ina B."]],
    "portability": {"Reasoning": [{"prompt": "The aunt of Ada is", "ground_truth": [["Ola"], ["Ula"]]}],
                    "Surprise": [{"prompt": "Oh", "ground_truth": "ah"}]},
    "locality": {"Forgetfulness": [{"prompt": "The father of Ada is", "ground_truth": "Uwe"}]},
}  # fmt: skip


def test_a_case_of_mquake_is_one_edit_and_its_other_steps_are_premises(tmp_path: Path) -> None:
    read = one(tmp_path, MQUAKE, format="mquake-hops")
    efficacy, rephrase, *hops = of(read, DocumentProbe)
    assert [p.group for p in (efficacy, rephrase, *hops)] == ["efficacy", "rephrase", "hop", "hop"]
    assert efficacy.answers == ("Madonna", "Madonna Ciccone") and efficacy.old_answer == "The Beatles"
    assert hops[0].answers == ("Bay City", "Bay City, Michigan") and hops[0].old_answer == "Liverpool"
    assert [(p.query, p.answers) for p in hops[0].premises] == [("Where was Madonna born?", ("Bay City",))]
    assert read.documents[0].statements[0].prompt == "{} was performed by" and kinds(read) == []


def test_the_same_edit_twice_in_a_case_counts_once_and_none_is_refused(tmp_path: Path) -> None:
    read = one(tmp_path, {**MQUAKE, "requested_rewrite": [MQUAKE_EDIT, MQUAKE_EDIT]}, format="mquake-hops")
    assert len(read.documents[0].statements) == 1
    read = one(tmp_path, {**MQUAKE, "requested_rewrite": []}, MQUAKE, format="mquake-hops")
    assert kinds(read) == ["malformed"] and "holds no edit" in read.problems[0].what and len(read.documents) == 1
    bad = {**MQUAKE, "requested_rewrite": [{**MQUAKE_EDIT, "target_new": "Madonna"}]}
    assert "must be an object, it is a text" in one(tmp_path, bad, format="mquake-hops").problems[0].what


def test_all_of_mquake_hard(shared: Path) -> None:
    read = load(shared / "data/mquake/MQuAKE-hard.json", "mquake-hops")
    counts = Counter(p.group for p in of(read, DocumentProbe))
    assert len(read.documents) == 429 and counts == {"efficacy": 1716, "rephrase": 1716, "hop": 1287}
    assert not [p for p in read.problems if p.lost]


def test_queries_of_ripple_edits_with_what_they_presuppose(tmp_path: Path) -> None:
    read = one(tmp_path, RIPPLE, format="ripple-probes")
    efficacy, hop, kept = of(read, DocumentProbe)
    assert (efficacy.answer, efficacy.old_answer, efficacy.query) == (
        "Una",
        "Ina",
        "The name of the mother of Ada is ___",
    )
    assert (hop.group, hop.answers, hop.premises[0].answers) == ("hop", ("Ola", "Ola B."), ("Ola", "Ola B."))
    assert (kept.group, kept.premises) == ("forgetfulness", ())
    assert read.problems[0].what.startswith("1 record: a probe without an answer: left out (first: ")


def test_lists_of_knowedit_by_name_and_others_as_extras(tmp_path: Path) -> None:
    read = one(tmp_path, KNOWEDIT, format="knowedit-probes")
    told = [(p.group, p.answers, p.old_answer) for p in of(read, DocumentProbe)]
    assert told == [
        ("efficacy", ("Una",), "Ina"),
        ("hop", ("Ola", "Ula"), None),
        ("forgetfulness", ("Uwe",), None),
    ]
    assert [e.value for e in of(read, Extra)] == [{"Surprise": KNOWEDIT["portability"]["Surprise"]}]
    assert "'Surprise'" in read.problems[0].what
    passage = one(tmp_path, {"text": "t", "labels": "He studied in Rovo.", "concept": "Uwe"}, format="knowedit-probes")
    assert passage.documents[0].statements == () and passage.documents[0].text == "He studied in Rovo."


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


FORWARD, BACKWARD, NEXT = (
    ["h_e", "r_e", "t_e", "f", "s"],
    ["t_e", "r_e", "h_e", "b", "s"],
    ["t_e", "r_1", "e_1", "f", "s"],
)
ADA = {"id": "Q1", "label": "Ada", "aliases": ["A."]}
ROVO = {"datatype": "wikibase-item", "value": {"id": "Q2", "label": "Rovo", "aliases": ["R."]}}
BORN = {"id": "P19", "label": "place of birth"}
UNIEDIT = {"prompt": "Ada was born in", "target": "Rovo", "subject": "Ada", "head_entity": ADA, "property": BORN,
        "tail_entity": ROVO}  # fmt: skip
STEP = {**UNIEDIT, "path": ["h_e", "r_e", "t_e"]}
OTHER = {"prompt": "Rovo lies in", "target": "Sorne", "subject": "Rovo", "path": ["t_e", "r_1", "e_1"],
         "head_entity": {"id": "Q2"}, "property": {"id": "P17"}, "tail_entity": {"datatype": "string"}}  # fmt: skip


def chain(steps: list[dict[str, Any]], paths: list[list[str]], **more: Any) -> dict[str, Any]:
    return {"prompt": "It is", "target": "x", "path_type": "single", "one_hops": steps, "paths": paths, **more}


def read_one(tmp_path: Path, side: str, asked: dict[str, Any]) -> DocumentProbe:
    other = "locality" if side == "generality" else "generality"
    record = {"edit": UNIEDIT, side: {"0": asked}, other: {}}
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
    bad = {"edit": UNIEDIT, "generality": {"0": {"prompt": "It is", "target": "x"}}, "locality": {}}
    path.write_text(json.dumps({"a": bad, "b": 3, "c": {**bad, "generality": {}}}), encoding="utf-8")
    read = load(path, "uniedit")
    assert [(p.kind, "art.json" in p.where) for p in read.problems] == [("malformed", True), ("malformed", True)]
    assert len(read.documents) == 1
