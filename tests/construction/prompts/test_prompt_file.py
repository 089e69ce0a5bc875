from __future__ import annotations

import re

import pytest

from construction.checks import CheckInputs, judge
from construction.prompts.prompt_file import FILES, WriterPrompt
from construction.scripts.question_step import OneQuestion, QuestionList, QuestionStep
from construction.scripts.script_step import ScriptAsk, ScriptStep, script_of
from construction.scripts.truncation import cut_script
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.scripts import ScriptQuestion
from tests.support.construction.prompt_questions import QUESTION
from tests.support.facts import make_fact
from tests.support.scripted_server import field


def test_spare_questions_and_words_for_asking_again_are_part_of_the_wording():
    prompt = FILES.load("scripts", "paper")
    assert prompt.model_copy(update={"again": "No: {reason}"}).digest != prompt.digest
    assert prompt.model_copy(update={"candidates": 7}).digest != prompt.digest


@pytest.mark.parametrize("task", FILES.tasks)
def test_every_reply_of_every_profile_is_limited(task):
    for profile in FILES.profiles():
        assert FILES.load(task, profile).parameters["max_tokens"] <= 1500


@pytest.mark.parametrize(
    ("task", "changes", "words"),
    [
        ("scripts", {"again": "Write another one."}, "placeholder {reason}"),
        ("scripts", {"again": "Not {new}: {reason}"}, "placeholder {reason} and no other"),
        ("questions", {"again": "No: {reason}"}, "belongs to a scripts prompt"),
        ("scripts", {"again": "No: {reason}", "shape": "object_last"}, "of the shape 'scripts'"),
        ("questions", {"shape": "scripts"}, "no shape 'scripts'"),
        ("scripts", {"shape": "why_list"}, "no shape 'why_list'"),
        ("questions", {"candidates": 0}, "candidates"),
    ],
)
def test_what_a_prompt_file_may_not_say(task, changes, words):
    with pytest.raises(DataError, match=words):
        validate(WriterPrompt, {**FILES.load(task, "paper").model_dump(), **changes}, where="x")


def _examples(task):
    prompt = FILES.load(task, "paper")
    step = (QuestionStep if task == "questions" else ScriptStep)(prompt)
    return [(e.user, step.reply.model_validate_json(e.assistant)) for e in prompt.examples]


def test_the_examples_of_questions_pass_the_checks():
    for user, reply in _examples("questions"):
        old = field(user, "Object before the change") or field(user, "Object")
        fact = make_fact(field(user, "Subject"), old, field(user, "Object after the change") or "Atlantis")
        assert reply.why and len(reply.questions) == int(field(user, "Number of questions"))
        for n, text in enumerate(reply.questions):
            question = ScriptQuestion(key=f"q{n}", fact=fact.key, text=text)
            verdicts = judge("question", CheckInputs(fact=fact, question=question))
            assert [v.reason for v in verdicts if v.label != "keep"] == [], text


def test_the_examples_of_scripts_pass_the_checks_with_two_preparing_steps():
    for user, reply in _examples("scripts"):
        texts = re.findall(r"^Question \d+: (.*)$", user, re.MULTILINE)
        questions = tuple(ScriptQuestion(key=f"q{n}", fact="f", text=text) for n, text in enumerate(texts))
        fact = make_fact("Norway", field(user, "Object"), "Atlantis", relation="P36")
        drafts = ScriptStep(FILES.load("scripts", "paper")).parse(ScriptAsk(questions=questions, old=fact.old), reply)
        assert len(drafts) == len(questions) >= 1
        for question, draft in zip(questions, drafts, strict=True):
            assert draft is not None and 5 <= len(draft) <= 9
            script = script_of(question, draft)
            prompt = cut_script(fact, question, script)
            assert prompt is not None and prompt.step is not None and prompt.step >= 3
            assert prompt.text.split()[-1] not in ("a", "an", "the"), "no article that tells the object's kind"
            inputs = CheckInputs(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
            for stage in ("draft", "script", "prompt"):
                assert [v.reason for v in judge(stage, inputs) if v.label != "keep"] == []


@pytest.mark.parametrize("profile", FILES.profiles())
@pytest.mark.parametrize("task", FILES.tasks)
def test_examples_of_every_prompt_obey_its_own_rules(task, profile):
    prompt = FILES.load(task, profile)
    assert prompt.examples
    reply = (QuestionStep if task == "questions" else ScriptStep)(prompt).reply
    for example in prompt.examples:
        parsed = reply.model_validate_json(example.assistant)
        if isinstance(parsed, QuestionList | OneQuestion):
            for text in getattr(parsed, "questions", None) or [parsed.question]:
                assert text.startswith("How ") and text.endswith("?")
        else:
            step = ScriptStep(prompt)
            for draft in step.parse(ScriptAsk(questions=(QUESTION,) * 2, old=make_fact().old), parsed):
                assert draft is None or script_of(QUESTION, draft)


def test_braces_in_facts_stay_data():
    fact = make_fact("{new} {old}", "Lima", "Oslo")
    text = QuestionStep(FILES.load("questions", "paper")).prompt(
        QuestionStep(FILES.load("questions", "paper")).calls(fact, count=4, edited=True)[0]
    )[-1]
    assert "Subject: {new} {old}\n" in text.content


def test_unknown_profile_is_answered_with_a_near_name():
    with pytest.raises(UserError, match="did you mean 'paper'"):
        FILES.load("questions", "papr")
