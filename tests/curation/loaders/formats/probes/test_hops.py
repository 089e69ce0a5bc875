"""The probes of MQuAKE, RippleEdits and KnowEdit as cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from curation.loaders import load
from schemas.documents.document import DocumentProbe
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one

EDIT: dict[str, Any] = {
    "prompt": "{} was performed by", "relation_id": "P175", "target_new": {"str": "Madonna", "id": "Q1744"},
    "target_true": {"str": "The Beatles", "id": "Q1299"}, "subject": "Hey Jude", "question": "Who performed Hey Jude?",
}  # fmt: skip
HOPS = [
    {"question": "Who performed Hey Jude?", "cloze": "Hey Jude was performed by", "answer": "Madonna",
     "answer_alias": ["Madonna Ciccone"]},
    {"question": "Where was Madonna born?", "cloze": "Madonna was born in", "answer": "Bay City", "answer_alias": []},
]  # fmt: skip
CASE: dict[str, Any] = {
    "case_id": 4, "requested_rewrite": [EDIT], "questions": ["Where was the performer of Hey Jude born?", "And where?"],
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
    read = one(tmp_path, CASE, format="mquake-hops")
    efficacy, rephrase, *hops = of(read, DocumentProbe)
    assert [p.group for p in (efficacy, rephrase, *hops)] == ["efficacy", "rephrase", "hop", "hop"]
    assert efficacy.answers == ("Madonna", "Madonna Ciccone") and efficacy.old_answer == "The Beatles"
    assert hops[0].answers == ("Bay City", "Bay City, Michigan") and hops[0].old_answer == "Liverpool"
    assert [(p.query, p.answers) for p in hops[0].premises] == [("Where was Madonna born?", ("Bay City",))]
    assert read.documents[0].statements[0].prompt == "{} was performed by" and kinds(read) == []


def test_the_same_edit_twice_in_a_case_counts_once_and_none_is_refused(tmp_path: Path) -> None:
    read = one(tmp_path, {**CASE, "requested_rewrite": [EDIT, EDIT]}, format="mquake-hops")
    assert len(read.documents[0].statements) == 1
    read = one(tmp_path, {**CASE, "requested_rewrite": []}, CASE, format="mquake-hops")
    assert kinds(read) == ["malformed"] and "holds no edit" in read.problems[0].what and len(read.documents) == 1
    bad = {**CASE, "requested_rewrite": [{**EDIT, "target_new": "Madonna"}]}
    assert "must be an object, it is a text" in one(tmp_path, bad, format="mquake-hops").problems[0].what


def test_the_remastered_form_of_mquake_gives_the_same_probes(tmp_path: Path) -> None:
    flat = {name: value for name, value in EDIT.items() if not name.startswith("target")}
    flat |= {"target_new_str": "Madonna", "target_true_str": "The Beatles"}
    read = one(tmp_path, {**CASE, "requested_rewrite": [flat]}, format="mquake-hops")
    assert of(read, DocumentProbe) == of(one(tmp_path, CASE, format="mquake-hops"), DocumentProbe)


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
