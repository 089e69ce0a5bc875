"""The step that asks for questions."""

from __future__ import annotations

from construction.prompts.prompt_file import load_prompt
from construction.scripts.question_step import QuestionList, QuestionStep, question_key
from tests.support.facts import make_fact


def test_neighbour_facts_are_asked_about_without_a_new_object():
    step = QuestionStep(load_prompt("questions", "paper"))
    (call,) = step.calls(make_fact(), count=1, edited=False)
    assert "Oslo" not in step.prompt(call)[-1].content


def test_embedded_questions_come_one_a_call_in_different_situations():
    step = QuestionStep(load_prompt("questions", "embedded"))
    calls = step.calls(make_fact(), count=4, edited=True)
    texts = [step.prompt(c)[-1].content for c in calls]
    assert len(set(texts)) == 4 and not any("Lima" in t or "Oslo" in t for t in texts)
    seeds = {step.sample(c, "k", str(c.index), attempt=a).parameters["seed"] for c in calls for a in (0, 1)}
    assert len(seeds) == 8


def test_questions_are_tidied_and_each_kept_once():
    step = QuestionStep(load_prompt("questions", "paper"))
    (call,) = step.calls(make_fact(), count=3, edited=True)
    reply = QuestionList(
        questions=["How to\n go\x00?", "how to  GO?", "", "How to run?", "How to sit?", "How to sleep?"]
    )
    made = step.parse(call, reply)
    assert [q.text for q in made] == ["How to go?", "How to run?", "How to sit?"]
    assert made[0].key == question_key(make_fact(), "how to go?")
    assert made[0].key.startswith("f/Peru/q-") and len(made[0].key.split("q-")[1]) == 8
