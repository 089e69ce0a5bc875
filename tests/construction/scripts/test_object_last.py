"""The fixed form: whatever a model fills in, the step ends with the object, in the format of a script."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from construction.checks.prompts import complaint
from construction.llm.request_formats import RequestFormat, body_of
from construction.prompts.prompt_file import FILES
from construction.scripts.script_step import LEADING, ScriptAsk, ScriptStep, object_last
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
        "Fly over to Oslos",
        "1. Fly over to Oslo",
        "**Fly over to Oslo",
        "Walk to Oslo",
        "Fly over to\nOslo",
    ],
)
def test_any_other_step_does_not(step: str) -> None:
    assert not fits(step, "Oslo")


@pytest.mark.parametrize(
    "beginning", ["Send the letter by", "Wait at the", "Send by", "Send the letter o", "Go on on on over"]
)
def test_after_every_word_a_space_may_follow_so_that_none_runs_on(beginning: str) -> None:
    """The form once wanted a longer word before "to": a model that had written "by" could only go on with "bymail"."""
    assert fits(f"{beginning} to Oslo", "Oslo")
    assert fits(f"{beginning} Oslo", "Oslo", ())


@pytest.mark.parametrize("old", ["Oslo", "Petro Poroshenko", "Saint Petersburg in Russia"])
def test_a_word_of_twelve_letters_is_not_cut_in_two(old: str) -> None:
    assert fits(f"Visit headquarters in {old}", old) and not fits(f"Visit {'a' * 17} in {old}", old)


def test_preparing_steps_are_limited_in_words_and_never_end_within_one() -> None:
    """A limit in characters ended them in the middle of a word."""

    def passes(step: str) -> bool:
        try:
            steps = {"before": [step, "Pack a bag"], "after": [step], "key_step": "Fly over to Oslo"}
            object_last("Oslo", TO).model_validate(steps)
        except ValidationError:
            return False
        return True

    for step in ("Write down the names of all pupils", "Ask for 20 of the T-shirts now"):
        parts = step.split()
        assert (
            all(passes(" ".join(parts[:n])) for n in range(2, 8))
            and passes(f"{step} too")
            and not passes(f"{step} today and")
        )
    assert not passes("1. Go") and not passes("Go **now**") and not passes("Go\nnow") and not passes("")


def test_without_a_preposition_any_word_may_lead() -> None:
    assert fits("Watch a famous violinist", "violinist", ())
    assert not fits("Watch a famous violinist", "violinist")


@given(st.text(alphabet="ab.C+*?()[]{}|^$\\/- é'ʻ", min_size=1, max_size=14).map(str.strip).filter(bool))
def test_signs_in_an_object_are_letters_of_it_and_no_pattern(old: str) -> None:
    assert fits(f"Take lessons in {old}", old)
    assert not fits(f"Take lessons in {old}x", old) and not fits("Take lessons in zz", old)


@pytest.mark.parametrize(
    ("old", "leading", "shortest"),
    [
        ("Oslo", TO, "Go over to"),
        ("New York City", TO, "Go over to"),
        ("violin", ("on the", "for the"), "Go over on the"),
        ("Saint Petersburg in Russia", TO, "Go over to"),
        ("Luiz Inácio Lula da Silva", TO, "Write to"),
        ("Luiz Inácio Lula da Silva", ("on the", "for the"), "Write on"),
        ("a b c d e f", TO, "Visit"),
    ],
)
def test_a_step_can_keep_the_format_however_long_the_name(old: str, leading: tuple[str, ...], shortest: str) -> None:
    assert fits(f"{shortest} {old}", old, leading) and words(f"{shortest} {old}") <= 7


@pytest.mark.parametrize("old", ["Oslo", "Blizzard Entertainment", "Saint Petersburg in Russia"])
@pytest.mark.parametrize("leading", [TO, ("on the", "for the"), ()])
def test_words_can_only_run_on_in_a_step_that_the_format_refuses(old: str, leading: tuple[str, ...]) -> None:
    """With seven words at most, a model that had no room for "form" wrote "Fill in the orderform to ..."."""
    end = f"{leading[0]} {old}" if leading else old
    longest = max(n for n in range(12) if fits(f"Go{' on' * n} {end}", old, leading))
    assert complaint((f"Go{' on' * longest} {end}",)) is not None, "no room is left: words may have run on"
    numbers = [n for n in range(longest) if complaint((f"Go{' on' * n} {end}",)) is None]
    assert numbers and all(fits(f"Go{' on' * (n + 1)} {end}", old, leading) for n in numbers)


def test_the_preparing_steps_come_first_and_the_schema_goes_out_with_the_object() -> None:
    step = ScriptStep(FILES.load("scripts", "local"))
    ask = ScriptAsk(questions=(QUESTION,), old=Object(text="C++"), relation_id="P277")
    request = step.sample(ask, "q", attempt=0)
    schema = body_of("m", request, RequestFormat())["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["before", "key_step", "after"] == schema["required"]
    assert schema["properties"]["key_step"]["pattern"].endswith(r"){1,6} C\+\+$")
    led = step.sample(ScriptAsk(questions=(QUESTION,), old=Object(text="Lima"), relation_id="P36"), "q", attempt=0)
    assert "(to|in) Lima$" in json.dumps(led.reply.model_json_schema()) and "P277" not in LEADING
    (draft,) = step.parse(ask, request.reply.model_validate({**AROUND, "key_step": "Learn some basic C++"}))
    assert draft == ("Pack a bag", "Lock the door", "Learn some basic C++", "Rest there")


def test_one_object_has_one_reply_type_so_that_journal_keys_hold() -> None:
    assert object_last("Oslo", TO) is object_last("Oslo", TO) is not object_last("Oslo")
