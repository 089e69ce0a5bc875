from __future__ import annotations

import pytest

from construction.prompts.prompt_file import TASKS, load_prompt, profiles
from construction.scripts.question_step import OneQuestion, QuestionList, QuestionStep
from construction.scripts.script_step import ScriptAsk, ScriptStep, script_of
from schemas.core.errors import UserError
from tests.support.construction.prompt_questions import QUESTION
from tests.support.facts import make_fact


@pytest.mark.parametrize("profile", profiles())
@pytest.mark.parametrize("task", TASKS)
def test_examples_of_every_prompt_obey_its_own_rules(task, profile):
    prompt = load_prompt(task, profile)
    assert prompt.examples
    reply = (QuestionStep if task == "questions" else ScriptStep)(prompt).reply
    for example in prompt.examples:
        parsed = reply.model_validate_json(example.assistant)
        if isinstance(parsed, QuestionList | OneQuestion):
            for text in getattr(parsed, "questions", None) or [parsed.question]:
                assert text.startswith("How ") and text.endswith("?")
        else:
            step = ScriptStep(prompt)
            (draft,) = step.parse(ScriptAsk(question=QUESTION, old=make_fact().old), parsed)
            assert script_of(QUESTION, draft)


def test_paper_prompts_carry_the_requirements():
    questions, scripts = load_prompt("questions", "paper").system, load_prompt("scripts", "paper").system
    for words in (
        "nine steps at most",
        "most likely",
        "How to",
        "word for word",
        "impact",
        "JSON",
        "neither the object",
    ):
        assert words in questions
    for words in ("Nine steps", "fewer than 8 words", "at least one step", "JSON", "no explanations"):
        assert words in scripts


def test_braces_in_facts_stay_data():
    fact = make_fact("{new} {old}", "Lima", "Oslo")
    text = QuestionStep(load_prompt("questions", "paper")).prompt(
        QuestionStep(load_prompt("questions", "paper")).calls(fact, count=4, edited=True)[0]
    )[-1]
    assert "Subject: {new} {old}\n" in text.content


def test_unknown_profile_is_answered_with_a_near_name():
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_prompt("questions", "papr")
