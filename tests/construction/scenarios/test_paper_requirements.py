"""Every requirement of the paper's Figures 6 and 7, and what holds it in each profile of prompts.

A capable model is told (the wording is looked for). The embedded model cannot follow ten rules: there a requirement is
held by what it is shown, by the shape of its reply, or by a check that drops what breaks it.
"""

from __future__ import annotations

import pytest

from construction.authoring.outcome import overall_label
from construction.checks import CheckInputs, judge
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import Draft, ObjectLast
from schemas.scripts import MAX_STEPS, MAX_WORDS, ScriptQuestion
from tests.support.facts import make_fact

FACT = make_fact("Peru", "Lima", "Oslo", aliases=("City of Kings",), new_aliases=("Christiania",))

# requirement -> words of our own that say it to a capable model
FIGURE_6 = {
    "a script is a step-by-step guide": "step-by-step guide that answers a question",
    "of brief events from step 1 on": "brief events from Step 1 on",
    "with nine steps at most": "nine steps at most",
    "several questions": "Number of questions: {count}",
    "most likely to be influenced": "most likely to",
    "with clearly different scripts": "clearly different",
    "without the old object, the new one, or an alias": "neither the object before the change, nor the object after it",
    "How to forms": '"How to ..."',
    "How does a forms": '"How does a ..."',
    "no impact questions": 'never "How does ... impact ..."',
    "thought over first": "First think",
    "JSON": "JSON only",
    "the fact": "Fact: {statement}",
    "the old object": "Object before the change: {old}",
    "the new object": "Object after the change: {new}",
}
FIGURE_7 = {
    "an ordered guide": "a list of brief events in order",
    "nine steps at most": "nine at most",
    "single concise actions": "one short action",
    "on one line": "on one line",
    "under 8 words": "fewer than 8 words",
    "no explanations, details, notes": "no explanations, details, notes",
    "no further instructions": "further advice",
    "steps only": "Steps only",
    "the old object in it": "stands word for word in at least one step",
    "the questions": "{questions}",
    "the object": "Object: {object}",
    "JSON": "JSON only",
}


def words_of(prompt):
    return " ".join(f"{prompt.system} {prompt.user}".split())


@pytest.mark.parametrize("requirement", FIGURE_6)
def test_a_capable_question_writer_is_told(requirement):
    assert FIGURE_6[requirement] in words_of(FILES.load("questions", "paper"))


@pytest.mark.parametrize("requirement", FIGURE_7)
def test_a_capable_script_writer_is_told(requirement):
    assert FIGURE_7[requirement] in words_of(FILES.load("scripts", "paper"))


def test_the_embedded_question_writer_cannot_give_away_what_it_does_not_see():
    step = QuestionStep(FILES.load("questions", "embedded"))
    for call in step.calls(FACT, count=4, edited=True):
        content = step.prompt(call)[-1].content
        assert not any(name in content for name in (*FACT.old.names, *FACT.new.names))


BROKEN = {
    "names the old object": "How to reach Lima in Peru?",
    "names an alias of the old object": "How to reach the City of Kings in Peru?",
    "names the new object": "How to fly from Peru to Oslo?",
    "names an alias of the new object": "How to fly from Peru to Christiania?",
    "asks about impact": "How does the capital of Peru impact trade?",
    "asks about influence": "How does Peru influence its neighbours?",
    "is no How question": "What is the capital of Peru?",
    "is no question": "How to visit Peru",
    "leaves the subject out": "How to visit a country?",
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_whoever_wrote_it_a_question_that_breaks_a_rule_is_dropped(wrong):
    question = ScriptQuestion(key="q", fact=FACT.key, text=BROKEN[wrong])
    assert overall_label(judge("question", CheckInputs(fact=FACT, question=question))) == "drop"


@pytest.mark.parametrize(
    "steps", [["Go"] * (MAX_STEPS + 1), [" ".join(["word"] * (MAX_WORDS + 1))]], ids=["ten steps", "eight words"]
)
def test_whoever_wrote_it_a_script_that_breaks_the_format_is_dropped(steps):
    question = ScriptQuestion(key="q", fact=FACT.key, text="How to visit Peru?")
    assert overall_label(judge("draft", CheckInputs(fact=FACT, question=question, draft=Draft(steps)))) == "drop"


def test_the_embedded_reply_cannot_hold_ten_steps():
    schema = ObjectLast.model_json_schema()["properties"]
    assert schema["before"]["maxItems"] + 1 + schema["after"]["maxItems"] <= MAX_STEPS
