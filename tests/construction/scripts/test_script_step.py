"""The step that asks for a script."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from construction.prompts.prompt_file import FILES, WriterPrompt
from construction.scripts.object_last import ObjectLast
from construction.scripts.question_step import tidy
from construction.scripts.script_step import Draft, RejectedScript, ScriptAsk, ScriptList, ScriptStep, StepList
from schemas.core.config import validate
from schemas.core.errors import DataError
from tests.support.construction.prompt_questions import QUESTION
from tests.support.facts import make_fact


def test_no_script_prompt_has_a_place_for_the_new_object():
    data = FILES.load("scripts", "paper").model_dump()
    with pytest.raises(DataError, match="unknown placeholder"):
        validate(WriterPrompt, {**data, "user": "{questions} Object: {object} New: {new}"}, where="x")


def test_steps_lose_their_labels():
    reply = ScriptList.model_validate(
        {"scripts": [{"n": 1, "steps": ["Step 1: Pack", "step 2 Go\nnow", "", "3 wise men"]}]}
    )
    (draft,) = ScriptStep(FILES.load("scripts", "paper")).parse(
        ScriptAsk(questions=(QUESTION,), old=make_fact().old), reply
    )
    assert draft == Draft(["Pack", "Go now", "3 wise men"])


def test_parts_of_a_guided_form_come_in_order():
    reply = ObjectLast(key_step="Fly to Lima", before=["Pack bags", "Wait here"], after=["Land safely"])
    (draft,) = ScriptStep(FILES.load("scripts", "embedded")).parse(
        ScriptAsk(questions=(QUESTION,), old=make_fact().old), reply
    )
    assert draft == Draft(["Pack bags", "Wait here", "Fly to Lima", "Land safely"])


@pytest.mark.parametrize("bad", [{"steps": []}, {"steps": ["Step 1:"]}, {"steps": ["a"] * 99}, {"steps": ["a" * 999]}])
def test_hopeless_steps_are_refused_for_repair(bad):
    with pytest.raises(ValueError):
        StepList.model_validate(bad)


def test_tidy_keeps_other_scripts():
    assert tidy("\u202eWie  é 東京\ud800\x07") == "\u202eWie é 東京"


def test_a_second_script_is_asked_for_with_the_first_one_and_the_reason():
    step = ScriptStep(FILES.load("scripts", "paper"))
    ask = ScriptAsk(questions=(QUESTION,), old=make_fact().old, relation="capital")
    first = step.prompt(ask)
    messages = step.prompt(replace(ask, rejected=(RejectedScript(("Go", "{object}"), "it is {question}"),)))
    assert messages[: len(first)] == first and [m.role for m in messages[len(first) :]] == ["assistant", "user"]
    assert json.loads(messages[-2].content) == {"scripts": [{"n": 1, "steps": ["Go", "{object}"]}]}
    assert "it is {question}" in messages[-1].content, "a reason is data"
    assert "Relation: capital" in first[-1].content


def test_a_wording_without_words_for_it_asks_anew():
    step = ScriptStep(FILES.load("scripts", "paper").model_copy(update={"again": None}))
    ask = ScriptAsk(questions=(QUESTION,), old=make_fact().old)
    assert step.prompt(replace(ask, rejected=(RejectedScript(("Go",), "x"),))) == step.prompt(ask)


def test_scripts_of_several_questions_go_to_their_questions():
    """In any order; a question that the reply leaves out, or answers twice, has none."""
    step = ScriptStep(FILES.load("scripts", "paper"))
    ask = ScriptAsk(questions=(QUESTION,) * 4, old=make_fact().old)
    assert [step.prompt(ask)[-1].content.count(f"Question {n}: ") for n in (1, 4, 5)] == [1, 1, 0]
    written = [{"n": n, "steps": ["Step 1: Pack", f"Fly to Lima {n}"]} for n in (2, 1, 4, 4, 9)]
    reply = step.reply.model_validate({"scripts": written})
    assert step.parse(ask, reply) == [Draft(["Pack", "Fly to Lima 1"]), Draft(["Pack", "Fly to Lima 2"]), None, None]
