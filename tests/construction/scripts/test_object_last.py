"""The fixed form: whatever a model fills in, the step ends with the object, in the format of a script."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from construction.llm.request_formats import RequestFormat, body_of
from construction.prompts.prompt_file import load_prompt
from construction.scripts.object_last import LEADING, object_last
from construction.scripts.script_step import ScriptAsk, ScriptStep
from schemas.facts import Object
from schemas.scripts import words
from tests.support.construction.prompt_questions import QUESTION

AROUND = {"before": ["Pack a bag", "Lock the door"], "after": ["Rest there"]}


TO = ("to", "in")


def fits(step: str, old: str, leading: tuple[str, ...] = TO) -> bool:
    try:
        object_last(old, leading).model_validate({**AROUND, "key_step": step})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "step", ["Take the train to Oslo", "Write a letter in Oslo", "Look around in Oslo", "Go slowly to Oslo"]
)
def test_a_step_that_leads_to_the_object_fits(step: str) -> None:
    assert fits(step, "Oslo")


@pytest.mark.parametrize(
    "step",
    [
        "Take the train",
        "Oslo",
        "Fly to Oslo today",
        "Visit beautiful Oslo",
        "fly over to Oslo",
        "Fly over to oslo",
        "Wait at the in Oslo",
        "Talk by to Oslo",
        "Fly over to Oslos",
        "1. Fly over to Oslo",
        "**Fly over to Oslo",
        "Walk on and on and then back to Oslo",
        "Fly over to\nOslo",
    ],
)
def test_any_other_step_does_not(step: str) -> None:
    assert not fits(step, "Oslo")


def test_without_a_preposition_any_word_may_lead() -> None:
    assert fits("Watch a famous violinist", "violinist", ())
    assert not fits("Watch a famous violinist", "violinist")


@given(st.text(alphabet="ab.C+*?()[]{}|^$\\/- é'ʻ", min_size=1, max_size=14).map(str.strip).filter(bool))
def test_signs_in_an_object_are_letters_of_it_and_no_pattern(old: str) -> None:
    assert fits(f"Take lessons in {old}", old)
    assert not fits(f"Take lessons in {old}x", old) and not fits("Take lessons in zz", old)


@pytest.mark.parametrize(
    ("old", "leading", "longest", "shortest"),
    [
        ("Oslo", TO, "Go on on on over to", "Go over to"),
        ("New York City", TO, "Go on over to", "Go over to"),
        ("violin", ("on the", "for the"), "Go on on over on the", "Go over on the"),
        ("Saint Petersburg in Russia", TO, "Go over to", "Go over to"),
        ("Luiz Inácio Lula da Silva", TO, "Write to", "Write to"),
        ("Luiz Inácio Lula da Silva", ("on the", "for the"), "Write on", "Write on"),
        ("a b c d e f", TO, "Visit", "Visit"),
    ],
)
def test_a_step_has_seven_words_at_most_however_long_the_name(
    old: str, leading: tuple[str, ...], longest: str, shortest: str
) -> None:
    assert fits(f"{longest} {old}", old, leading) and fits(f"{shortest} {old}", old, leading)
    assert words(f"{longest} {old}") <= 7
    assert not fits(f"{longest.replace(' ', ' on ', 1) if ' ' in longest else 'Go on'} {old}", old, leading)


def test_the_preparing_steps_come_first_and_the_schema_goes_out_with_the_object() -> None:
    step = ScriptStep(load_prompt("scripts", "local"))
    ask = ScriptAsk(question=QUESTION, old=Object(text="C++"), relation_id="P277")
    request = step.sample(ask, "q", attempt=0)
    schema = body_of("m", request, RequestFormat())["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["before", "key_step", "after"] == schema["required"]
    assert schema["properties"]["key_step"]["pattern"].endswith(r" [a-z]{1,11} C\+\+$")
    led = step.sample(ScriptAsk(question=QUESTION, old=Object(text="Lima"), relation_id="P36"), "q", attempt=0)
    assert "(to|in) Lima$" in json.dumps(led.reply.model_json_schema()) and "P277" not in LEADING
    (draft,) = step.parse(ask, request.reply.model_validate({**AROUND, "key_step": "Learn some basic C++"}))
    assert draft == ("Pack a bag", "Lock the door", "Learn some basic C++", "Rest there")


def test_one_object_has_one_reply_type_so_that_journal_keys_hold() -> None:
    assert object_last("Oslo", TO) is object_last("Oslo", TO) is not object_last("Oslo")
