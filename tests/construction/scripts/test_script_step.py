"""The step that asks for a script."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construction.llm.prompt_text import tidy
from construction.prompts.prompt_file import FILES
from construction.scripts.script_step import (
    Draft,
    NumberedSteps,
    RejectedScript,
    ScriptAsk,
    ScriptList,
    ScriptStep,
    clean_steps,
)
from tests.support.construction.prompt_questions import QUESTION
from tests.support.facts import make_fact


def test_steps_lose_their_labels():
    reply = ScriptList.model_validate(
        {"scripts": [{"n": 1, "steps": ["Step 1: Pack", "step 2 Go\nnow", "", "3 wise men"]}]}
    )
    (draft,) = ScriptStep(FILES.load("scripts", "paper")).parse(
        ScriptAsk(questions=(QUESTION,), old=make_fact().old), reply
    )
    assert draft == Draft(["Pack", "Go now", "3 wise men"])


@pytest.mark.parametrize("bad", [{"steps": []}, {"steps": ["Step 1:"]}, {"steps": ["a"] * 99}, {"steps": ["a" * 999]}])
def test_hopeless_steps_are_refused_for_repair(bad):
    with pytest.raises(ValueError):
        NumberedSteps.model_validate({"n": 1, **bad})


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


ONE = {
    "1. Pack": "Pack",
    "1) Pack": "Pack",
    "(1) Pack": "Pack",
    "1: Pack": "Pack",
    "- Pack": "Pack",
    "* Pack": "Pack",
    "• Pack": "Pack",
    "– Pack": "Pack",
    "- 1. Pack": "Pack",
    "Step 1: Pack": "Pack",
    "Step 1 - Pack": "Pack",
    "Step 1 – Pack": "Pack",
    "**Step 1:** Pack": "Pack",
    "**Step 1**: Pack": "Pack",
    "### Step 1: Pack": "Pack",
    "1. **Pack**": "Pack",
    "**1.** Pack": "Pack",
    "Fly to **Rome**": "Fly to Rome",
    "Fly to *Rome* now": "Fly to Rome now",
    "Fly to _Rome_": "Fly to Rome",
    "Fly to ***Rome***": "Fly to Rome",
    "Use `PHP`": "Use PHP",
    "Fly to [Rome](https://example.org/a_b)": "Fly to Rome",
    "1.Pack": "Pack",
    "[1] Pack": "Pack",
    "Step 1/4: Pack": "Pack",
    "Step 1 of 4: Pack": "Pack",
    "(Step 1) Pack": "Pack",
    "→ Pack": "Pack",
    "- [ ] Pack": "Pack",
    "<b>Step 1</b>: Pack": "Pack",
    "<li>Pack</li>": "Pack",
    "Fly to <b>Rome</b> now": "Fly to Rome now",
    # these are no labels and no marks
    "I want 1 - 2 boxes": "I want 1 - 2 boxes",
    "5 - 7 boxes are enough": "5 - 7 boxes are enough",
    "First, pack": "First, pack",
    "Next to Rome": "Next to Rome",
    "Step over 1 log": "Step over 1 log",
    "Step one foot forward": "Step one foot forward",
    "Write a < b > c": "Write a < b > c",
    "Ask AT&T; wait": "Ask AT&T; wait",
    "Buy eggs [or two] (big)": "Buy eggs [or two] (big)",
    "1/2 cup of milk": "1/2 cup of milk",
    "A taxi will do": "A taxi will do",
    "I.B.M. will do": "I.B.M. will do",
    "4 boxes are enough": "4 boxes are enough",
    "1984 is a book": "1984 is a book",
    "2.5 litres of milk": "2.5 litres of milk",
    "Watch M*A*S*H": "Watch M*A*S*H",
    "Call snake_case_name": "Call snake_case_name",
    "Compute 2 * 3 * 4": "Compute 2 * 3 * 4",
    "Take a well-known road - alone": "Take a well-known road - alone",
    "Write [sic] there": "Write [sic] there",
}


@pytest.mark.parametrize("step", ONE)
def test_one_step(step):
    assert clean_steps([step]) == (ONE[step],)


def test_numbers_are_labels_where_they_count_or_where_several_steps_have_one():
    assert clean_steps(["3) Pack", "4) Go"]) == ("Pack", "Go")
    assert clean_steps(["Pack", "2. Go"]) == ("Pack", "Go")
    assert clean_steps(["Pack", "1. FC Köln plays", "Go"]) == ("Pack", "1. FC Köln plays", "Go")


def test_a_name_that_begins_like_a_label_stays_whole():
    assert clean_steps(["1. FC Köln plays", "2. Go"], names=("1. FC Köln",)) == ("1. FC Köln plays", "Go")


@given(st.lists(st.text("WY1.)-*_ `#[(", min_size=1, max_size=14).map(tidy).filter(bool), min_size=1, max_size=4))
def test_cleaning_only_takes_away(steps):
    for before, after in zip(steps, clean_steps(steps), strict=True):
        rest = iter(before)
        assert all(c in rest for c in after)
        assert [c for c in after if c.isalpha()] == [c for c in before if c.isalpha()]


@pytest.mark.parametrize(
    ("step", "clean"),
    [
        ("Set a<b and c>d there", "Set a<b and c>d there"),
        ("Pick a day </s> that suits", "Pick a day that suits"),
        ("Type <b>Lima</b> in the box", "Type Lima in the box"),
        ('Open <a href="https://example.org">it</a> now', "Open it now"),
        ("Press <Enter> on the keyboard", "Press <Enter> on the keyboard"),
    ],
)
def test_only_tags_are_tags(step: str, clean: str) -> None:
    assert clean_steps([step]) == (clean,)
