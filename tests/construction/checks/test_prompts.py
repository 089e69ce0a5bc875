"""Checks of scripts and of the prompts that are cut from them."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.neighbours.same_object import link
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from schemas.scripts import ScriptPrompt, ScriptQuestion
from tests.support.facts import make_fact


def material(fact, steps, text="How to go?"):
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    script = script_of(question, Draft(steps))
    return CheckInputs(fact=fact, question=question, script=script, prompt=cut_script(fact, question, script))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (("a",) * 10, "10 steps"),
        (("one two three four five six seven eight",), "step 1 has 8 words"),
        ((), "no step"),
        (("Pack a bag", "Fly home<|endoftext|>"), "step 2 holds the control token <|endoftext|>"),
    ],
)
def test_broken_format_stands_on_the_question(fact, steps, reason):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    (verdict,) = judge("draft", CheckInputs(fact=fact, question=question, draft=steps))
    assert (verdict.label, verdict.item_id) == ("drop", question.id)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("old", "steps", "label", "reason"),
    [
        ("Lima", ["Pack", "Fly to Lima"], "keep", ""),
        ("Lima", ["Pack", "Go"], "drop", "Lima"),
        ("Square", ["Meet at the town square"], "unsure", "'square' has no capital"),
        ("Square", ["Meet at the town square", "Pay with Square"], "keep", ""),
        ("London", ["Cross London Bridge"], "keep", ""),
        ("Italy", ["Call an Italian"], "drop", "no step mentions the old object"),
    ],
)
def test_it_says_why_nothing_or_something_doubtful_is_cut(old, steps, label, reason):
    (verdict,) = judge("script", material(make_fact("Acme", old, "Oslo"), steps))
    assert (verdict.label, verdict.by) == (label, "no_mention@8")
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("fact", "question", "steps", "place"),
    [
        (make_fact(), "How to leave Lima in Peru?", ["Pack", "See Lima"], ("Lima", "old object")),
        (
            make_fact("Acme", "York", "New York"),
            "How to reach Acme?",
            ["Leave New York", "Fly to York"],
            ("New York", "new object"),
        ),
        (make_fact(), "How to reach Peru?", ["Leave Oslo", "Fly to Lima"], ("Oslo", "new object")),
    ],
)
def test_an_object_that_is_named_before_the_cut_leaks(fact, question, steps, place):
    (leak,) = [v for v in judge("prompt", material(fact, steps, question)) if v.label == "drop"]
    assert leak.check == "leak_in_prompt" and [(s.text, s.what) for s in leak.spans] == [place]


@pytest.mark.parametrize(
    ("fact", "steps", "check"),
    [
        (make_fact(), ["Pack", "Fly to Lima", "Go on to Oslo"], None),
        (
            make_fact("Porsche Panamera", "Porsche", "Ford"),
            ["Wash the Porsche Panamera", "Call Porsche"],
            "leak_in_prompt",
        ),
    ],
    ids=["the new object after the cut", "the object within the subject"],
)
def test_what_may_stand_beside_the_cut(fact, steps, check):
    doubted = [(v.check, v.label) for v in judge("prompt", material(fact, steps)) if v.label != "keep"]
    assert doubted == ([(check, "unsure")] if check else [])


@pytest.mark.parametrize(("step", "label", "value"), [(1, "unsure", 1.0), (4, "keep", 4.0), (None, "unscored", None)])
def test_the_step_of_the_cut_is_measured(fact, step, label, value):
    prompt = ScriptPrompt(key="p", fact=fact.key, text="How?\nStep 1: Go", offset=16, step=step, targets=("Lima",))
    (verdict,) = [v for v in judge("prompt", CheckInputs(fact=fact, prompt=prompt)) if v.check == "early_cut"]
    assert (verdict.label, verdict.value) == (label, value)


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
    (verdict,) = judge("neighbour", CheckInputs(fact=other, prompt=prompt, edit=fact, link=record))
    assert (verdict.label, verdict.item_id, verdict.related) == (label, record.id, (prompt.id,))
