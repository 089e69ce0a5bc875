from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from construction.cli.prompts import prompts as prompts_command
from construction.prompts.prompt_file import TASKS, WriterPrompt, load_prompt, profiles
from construction.scripts.question_step import OneQuestion, QuestionList, QuestionStep, question_key, tidy
from construction.scripts.script_step import Draft, ScriptAsk, ScriptStep, StepList, StepSlots, script_of
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact

QUESTION = ScriptQuestion(key="f/Peru/q-1", fact="f/Peru", text="How to visit Peru?")


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


def test_no_script_prompt_has_a_place_for_the_new_object():
    data = load_prompt("scripts", "paper").model_dump()
    with pytest.raises(DataError, match="unknown placeholder"):
        validate(WriterPrompt, {**data, "user": "Question: {question} Object: {object} New: {new}"}, where="x")


def test_braces_in_facts_stay_data():
    fact = make_fact("{new} {old}", "Lima", "Oslo")
    text = QuestionStep(load_prompt("questions", "paper")).prompt(
        QuestionStep(load_prompt("questions", "paper")).calls(fact, count=4, edited=True)[0]
    )[-1]
    assert "Subject: {new} {old}\n" in text.content


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


def test_steps_lose_their_labels():
    reply = StepList(steps=["Step 1: Pack", "step 2 Go\nnow", "", "3 wise men"])
    (draft,) = ScriptStep(load_prompt("scripts", "paper")).parse(
        ScriptAsk(question=QUESTION, old=make_fact().old), reply
    )
    assert draft == Draft(["Pack", "Go now", "3 wise men"])


def test_slots_come_in_order():
    reply = StepSlots(word="Lima", key_step="Fly to Lima", before=["Pack", "Wait"], after=["Land"])
    (draft,) = ScriptStep(load_prompt("scripts", "embedded")).parse(
        ScriptAsk(question=QUESTION, old=make_fact().old), reply
    )
    assert draft == Draft(["Pack", "Wait", "Fly to Lima", "Land"])


@pytest.mark.parametrize("bad", [{"steps": []}, {"steps": ["Step 1:"]}, {"steps": ["a"] * 99}, {"steps": ["a" * 999]}])
def test_hopeless_steps_are_refused_for_repair(bad):
    with pytest.raises(ValueError):
        StepList.model_validate(bad)


def test_tidy_keeps_other_scripts():
    assert tidy("\u202eWie  é 東京\ud800\x07") == "\u202eWie é 東京"


def test_unknown_profile_is_answered_with_a_near_name():
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_prompt("questions", "papr")


def test_prompts_command_lists_and_renders(tmp_path):
    runner = CliRunner()
    rows = [json.loads(x) for x in runner.invoke(prompts_command, ["--jsonl"]).output.splitlines()]
    assert {(r["task"], r["profile"]) for r in rows} == {
        (t, p) for t in (*TASKS, "verify_leak", "verify_depends") for p in ("paper", "embedded")
    }
    path = tmp_path / "f.jsonl"
    path.write_text(make_fact().model_dump_json() + "\n")
    shown = runner.invoke(prompts_command, ["--fact", str(path), "--profile", "paper"])
    assert shown.exit_code == 0 and "Object after the change: Oslo" in shown.output
    assert "Object: Lima" in shown.output.split("scripts_paper@1, user")[-1]
    verifier = shown.output.split("== verify_leak_paper@1, user")[-1]
    assert "<text>" in verifier and "Lima" in verifier and "verify_depends_paper@1" in verifier
