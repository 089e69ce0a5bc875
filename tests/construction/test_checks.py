from __future__ import annotations

import pytest
from made_facts import make_fact

from construction.checks import CHECKS, Material, judge
from construction.neighbours import link
from construction.scripts import Draft, script_of
from construction.truncate import cut_script
from schemas.facts import Entity, Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import verdict_key

US = make_fact("Texas", "United States", "Peru", aliases=("US", "America"), new_aliases=("Republic of Peru",))
PORSCHE = make_fact("Porsche Panamera", "Porsche", "Ford")
MOVIE = Fact(**{**make_fact("x", "France", "Peru").model_dump(), "subject": Entity(text="Deep Impact")})

QUESTIONS = {
    "clean": ("How to visit Texas?", US, {}),
    "old object": ("How to visit Texas in the United States?", US, {"leak_in_question": "drop"}),
    "alias of the old": ("How to visit Texas from America?", US, {"leak_in_question": "drop"}),
    "pronoun us": ("How to help us visit Texas?", US, {}),
    "possessive": ("How to visit Texas with America's bus?", US, {"leak_in_question": "drop"}),
    "new object": ("How to visit Texas from Peru?", US, {"leak_in_question": "drop"}),
    "alias of the new": ("How to visit Texas (Republic of Peru)?", US, {"leak_in_question": "drop"}),
    "another word": ("How to visit Texas like a Peruvian?", US, {}),
    "no subject": ("How to visit a state?", US, {"subject_in_question": "drop"}),
    "object in the subject": ("How to wash a Porsche Panamera?", PORSCHE, {"leak_in_question": "unsure"}),
    "object beside the subject": (
        "How to ask Porsche about a Porsche Panamera?",
        PORSCHE,
        {"leak_in_question": "drop"},
    ),
    "not how": ("Where is Texas?", US, {"question_form": "drop"}),
    "how many": ("How many people live in Texas?", US, {"question_form": "drop"}),
    "no question mark": ("How to visit Texas", US, {"question_form": "drop"}),
    "impact": ("How does moving to Texas impact a budget?", US, {"question_form": "drop"}),
    "affect": ("How does Texas affect travellers?", US, {"question_form": "drop"}),
    "effectively is fine": ("How to study Texas effectively?", US, {}),
    "impact in the subject": ("How to watch Deep Impact?", MOVIE, {}),
    "two questions": ("How to visit Texas? How to leave?", US, {"question_form": "drop"}),
    "babble": ("How to visit a visit to a visit to a visit to a visit to Texas?", US, {"question_form": "drop"}),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_checks(name):
    text, fact, expected = QUESTIONS[name]
    question = ScriptQuestion(key=f"{fact.key}/q-1", fact=fact.key, text=text)
    verdicts = judge("question", Material(fact=fact, question=question))
    assert {v.check for v in verdicts} == {"question_form", "subject_in_question", "leak_in_question"}
    assert {v.check: v.label for v in verdicts if v.label != "keep"} == expected
    for verdict in verdicts:
        assert verdict.item_id == question.id
        assert verdict.key == verdict_key(item_id=question.id, by=verdict.by)
        for span in verdict.spans:
            assert text[span.start : span.end] == span.text


SCRIPTS = {
    "clean": (("Pack", "Fly to the United States"), US, {}),
    "cut in step 1": (("Fly to America", "Land"), US, {"early_cut": "unsure"}),
    "nothing to cut": (("Pack", "Go"), US, {"no_mention": "drop"}),
    "new object before": (("Leave Peru", "Fly to America"), US, {"leak_in_prompt": "drop"}),
    "new object after the cut": (("Pack", "Fly to America", "Go to Peru"), US, {}),
    "alias of the new before": (("Leave the Republic of Peru", "Fly to America"), US, {"leak_in_prompt": "drop"}),
    "object within the subject": (("Wash the Porsche Panamera", "Call Porsche"), PORSCHE, {"leak_in_prompt": "unsure"}),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_and_prompt_checks(name):
    steps, fact, expected = SCRIPTS[name]
    question = ScriptQuestion(key=f"{fact.key}/q-1", fact=fact.key, text="How to do it?")
    script = script_of(question, Draft(steps))
    prompt = cut_script(fact, question, script)
    material = Material(fact=fact, question=question, draft=steps, script=script, prompt=prompt)
    verdicts = judge("draft", material) + judge("script", material) + (judge("prompt", material) if prompt else [])
    assert {v.check: v.label for v in verdicts if v.label != "keep"} == expected
    assert all(v.reason for v in verdicts if v.label != "keep")
    if prompt:
        for verdict in verdicts:
            if verdict.item_id == prompt.id:
                assert all(prompt.text[s.start : s.end] == s.text for s in verdict.spans)


def test_an_earlier_mention_of_the_old_object_in_the_question_is_a_leak_of_the_prompt(fact):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to leave Lima in Peru?")
    prompt = cut_script(fact, question, script_of(question, Draft(["Pack", "See Lima"])))
    (leak,) = [v for v in judge("prompt", Material(fact=fact, question=question, prompt=prompt)) if v.label == "drop"]
    assert leak.check == "leak_in_prompt" and [s.text for s in leak.spans] == ["Lima"]


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (("a",) * 10, "10 steps"),
        (("one two three four five six seven eight",), "step 1 has 8 words"),
        ((), "no step"),
    ],
)
def test_broken_format_stands_on_the_question(fact, steps, reason):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    (verdict,) = judge("draft", Material(fact=fact, question=question, draft=steps))
    assert (verdict.label, verdict.item_id) == ("drop", question.id)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("How to visit Chile?\nStep 1: Fly to", "keep"),
        ("How to visit Chile?\nStep 1: Leave Peru", "drop"),
        ("How to visit Chile?\nStep 1: Leave Oslo's airport", "drop"),
    ],
)
def test_edit_in_a_neighbour_prompt(fact, text, label):
    other = make_fact("Chile")
    prompt = ScriptPrompt(key="p", fact=other.key, text=text, offset=len(text) + 1, targets=("Lima",))
    record = link(fact, other)
    (verdict,) = judge("neighbour", Material(fact=other, prompt=prompt, edit=fact, link=record))
    assert (verdict.label, verdict.item_id, verdict.related) == (label, record.id, (prompt.id,))


def test_no_reply_is_unscored_never_dropped(fact):
    (verdict,) = judge("reply", Material(fact=fact, failure="refused: no"))
    assert (verdict.label, verdict.item_id, verdict.reason) == ("unscored", fact.id, "refused: no")


def test_every_registered_check_has_name_version_and_stage():
    for name in CHECKS.names():
        check = CHECKS.get(name)()
        assert (check.name, check.version >= 1) == (name, True)
        assert check.on in ("reply", "question", "draft", "script", "prompt", "neighbour")
