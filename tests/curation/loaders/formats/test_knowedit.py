"""KnowEdit's tasks: aliases, facts without an old object, passages without a fact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.extras import Extra
from tests.support.curation.published_records import kinds, new_of, of, one

EDIT: dict[str, Any] = {
    "subject": "Leo Arons",
    "prompt": "What is the death place of Leo Arons?",
    "target_new": "Cologne",
    "ground_truth": [["Berlin", "Berlin, Germany"], ["Berlin"]],
    "rephrase_prompt": "Where did Leo Arons die?",
    "portability": {"Reasoning": [{"prompt": "x", "ground_truth": [["y"]]}], "Empty": []},
    "locality": {"Relation_Specificity": [{"prompt": "z", "ground_truth": [["w"]]}]},
}


def test_an_edit_with_its_probes(tmp_path: Path) -> None:
    import_result = one(tmp_path, EDIT, format="knowedit")
    (fact,) = import_result.facts
    assert (fact.prompt, fact.old.text, new_of(fact)) == ("What is the death place of {}?", "Berlin", "Cologne")
    assert fact.old.aliases == ("Berlin, Germany",) and fact.paraphrases == ("Where did Leo Arons die?",)
    assert {e.name: e.value for e in of(import_result, Extra)} == {
        "portability/Reasoning": EDIT["portability"]["Reasoning"],
        "locality/Relation_Specificity": EDIT["locality"]["Relation_Specificity"],
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
    record = {**EDIT, "portability": {"Script": script, "Reasoning": reasoning}, "locality": {}}
    import_result = one(tmp_path, record, format="knowedit")
    assert {e.name for e in of(import_result, Extra)} == set(names)


def test_without_an_old_object_nothing_is_edited(tmp_path: Path) -> None:
    (fact,) = one(tmp_path, {**EDIT, "ground_truth": []}, format="knowedit").facts
    assert (fact.old.text, fact.new, fact.change) == ("Cologne", None, "none")


def test_a_new_object_among_the_right_answers_is_refused(tmp_path: Path) -> None:
    import_result = one(tmp_path, {**EDIT, "ground_truth": ["Berlin", "COLOGNE"]}, EDIT, format="knowedit")
    assert len(import_result.facts) == 1
    assert [p.kind for p in import_result.problems if p.lost] == ["invalid"]
    assert "nothing would be edited" in import_result.problems[0].what


def test_one_object_of_tasks_is_as_many_records(tmp_path: Path) -> None:
    tasks = {"recent": EDIT, "broken": 3, "other": {**EDIT, "subject": "Leo", "prompt": "Leo is from"}}
    import_result = one(tmp_path, tasks, format="knowedit")
    assert [f.subject.text for f in import_result.facts] == ["Leo Arons", "Leo"]
    assert kinds(import_result) == ["malformed"] and import_result.problems[0].where.endswith("broken")


def test_a_passage_is_no_fact(tmp_path: Path) -> None:
    passage = {"text": "This is a Wikipedia passage about john russell reynolds.", "concept": "J", "labels": "He was"}
    import_result = one(tmp_path, passage, format="knowedit")
    assert not import_result.facts and [e.name for e in of(import_result, Extra)] == ["passage"]
    assert of(import_result, Extra)[0].value == passage
