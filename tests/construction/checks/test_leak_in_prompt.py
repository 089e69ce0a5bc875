from __future__ import annotations

from construction.checks import CheckInputs, judge
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact


def test_an_earlier_mention_of_the_old_object_in_the_question_is_a_leak_of_the_prompt(fact):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to leave Lima in Peru?")
    prompt = cut_script(fact, question, script_of(question, Draft(["Pack", "See Lima"])))
    (leak,) = [
        v for v in judge("prompt", CheckInputs(fact=fact, question=question, prompt=prompt)) if v.label == "drop"
    ]
    assert leak.check == "leak_in_prompt" and [s.text for s in leak.spans] == ["Lima"]


def test_an_object_in_the_longer_name_of_the_other_one_is_that_one():
    york = make_fact("Acme", "York", "New York")
    question = ScriptQuestion(key="q", fact=york.key, text="How to reach Acme?")
    prompt = cut_script(york, question, script_of(question, Draft(["Leave New York", "Fly to York"])))
    assert prompt is not None and prompt.step == 2
    (leak,) = [
        v
        for v in judge("prompt", CheckInputs(fact=york, question=question, prompt=prompt))
        if v.check == "leak_in_prompt"
    ]
    assert (leak.label, [(s.text, s.what) for s in leak.spans]) == ("drop", [("New York", "new object")])
