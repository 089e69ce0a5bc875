"""The published shapes of ScEdit, and the examples of its paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.loaders.formats.scedit import split_prompt
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt, ScriptQuestion
from tests.support.curation.published_records import CF, kinds, new_of, of, one

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


def test_scedit_ids_that_repeat_or_lack_lose_nothing(tmp_path: Path) -> None:
    lacking = {k: v for k, v in CF.items() if k != "case_id"}
    import_result = one(tmp_path, CF, CF, lacking)
    assert [f.key for f in import_result.facts] == ["scedit-cf/5", "scedit-cf/1-of-file", "scedit-cf/2"]
    assert kinds(import_result) == ["suspect", "left"] and len(of(import_result, ScriptPrompt)) == 6


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


@pytest.mark.parametrize(("text", "question", "before", "separator", "step"), CUTS, ids=[c[0] for c in CUTS])
def test_cut(text: str, question: str, before: str, separator: str, step: int | None) -> None:
    assert split_prompt(text) == (question, before, separator, step)
