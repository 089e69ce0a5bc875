from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construction.checks.prompts import blank_step_labels
from construction.mentions import find_object
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script, first_cut, separator_of
from schemas.facts import Entity, Object
from schemas.scripts import ScriptQuestion, render
from tests.support.facts import make_fact

Q = "How to go?"
CASES = {
    "plain": (["Pack", "Fly to Paris"], Object(text="Paris"), None, (2, "Fly to", " ", "Paris")),
    "possessive": (["See Paris's river"], Object(text="Paris"), None, (1, "See", " ", "Paris")),
    "possessive curly": (["See Paris’s river"], Object(text="Paris"), None, (1, "See", " ", "Paris")),
    "parenthesis": (["Pack", "Pick a city (Paris)"], Object(text="Paris"), None, (2, "Pick a city", " (", "Paris")),
    "quotes": (['Say "Paris" twice'], Object(text="Paris"), None, (1, "Say", ' "', "Paris")),
    "curly quotes": (["Say “Paris” twice"], Object(text="Paris"), None, (1, "Say", " “", "Paris")),
    "quote in parenthesis": (['Write it ("Paris")'], Object(text="Paris"), None, (1, "Write it", ' ("', "Paris")),
    "hyphen": (["Take the London-Paris train"], Object(text="Paris"), None, (1, "Take the London-", "", "Paris")),
    "slash": (["Fly to Rome/Paris"], Object(text="Paris"), None, (1, "Fly to Rome/", "", "Paris")),
    "step begins": (["Pack", "Paris is next"], Object(text="Paris"), None, (2, "Step 2:", " ", "Paris")),
    "closing quote before": (
        ["Ask the dogs' Paris club"],
        Object(text="Paris"),
        None,
        (1, "Ask the dogs'", " ", "Paris"),
    ),
    "alias first": (
        ["Fly to the US", "See the United States"],
        Object(text="United States", aliases=("US",)),
        None,
        (1, "Fly to the", " ", "US"),
    ),
    "pronoun is no alias": (
        ["Tell us", "Fly to the US"],
        Object(text="United States", aliases=("US",)),
        None,
        (2, "Fly to the", " ", "US"),
    ),
    "longest name": (
        ["Fly to New York City"],
        Object(text="New York", aliases=("New York City",)),
        None,
        (1, "Fly to", " ", "New York City"),
    ),
    "word within a word": (["Eat an omanu", "Fly to Oman"], Object(text="Oman"), None, (2, "Fly to", " ", "Oman")),
    "inside the subject": (
        ["Start the Porsche Panamera", "Call Porsche"],
        Object(text="Porsche"),
        Entity(text="Porsche Panamera"),
        (2, "Call", " ", "Porsche"),
    ),
    "only inside the subject": (
        ["Start the Porsche Panamera"],
        Object(text="Porsche"),
        Entity(text="Porsche Panamera"),
        None,
    ),
    "the object is a number": (["Walk", "Take line 2"], Object(text="2"), None, (2, "Take line", " ", "2")),
    "the object is Step": (["Walk", "Dance the Step"], Object(text="Step"), None, (2, "Dance the", " ", "Step")),
    "no spaces": (["先去東京塔"], Object(text="東京"), None, (1, "先去", "", "東京")),
    "absent": (["Walk"], Object(text="Paris"), None, None),
}


@pytest.mark.parametrize("name", CASES)
def test_first_cut(name):
    steps, old, subject, expected = CASES[name]
    cut = first_cut(Q, tuple(steps), make_fact(subject or "Zzyzx", old, None))
    if expected is None:
        assert cut is None
        return
    step, end, separator, mention = expected
    assert cut is not None
    assert (cut.step, cut.separator, cut.mention.text) == (step, separator, mention)
    assert cut.text.endswith(end)
    full_text = render(Q, tuple(steps))
    assert full_text[: cut.mention.start] == cut.text + cut.separator
    assert full_text[cut.mention.start : cut.mention.end] == mention


def test_prompt_of_a_script_keeps_offset_and_targets(fact):
    question = ScriptQuestion(key="f/Peru/q-1", fact=fact.key, text="How to visit Peru?")
    script = script_of(question, Draft(["Pack", "Fly to Lima's airport"]))
    prompt = cut_script(fact, question, script)
    assert prompt is not None
    assert prompt.key == f"{script.key}/p"
    assert prompt.text == "How to visit Peru?\nStep 1: Pack\nStep 2: Fly to"
    assert prompt.targets == ("Lima", "Oslo")
    assert render(question.text, script.steps)[prompt.offset :].startswith("Lima's")


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("to ", " "),
        ("to\n", "\n"),
        ("to", ""),
        ("to\u00a0", "\u00a0"),
        ("to («", " («"),
        ("( ", " "),
        ("to\n\t¿", "\n\t¿"),
        ("Drive to l'", ""),  # an elision, part of the word
        ("say '", " '"),
        ("先去（", "（"),
        ("選ぶ「", "「"),
        ("pick one: \"'", " \"'"),
        ("the dogs' ", " "),
        ("12'", "'"),
        ("", ""),
        ("((", "(("),
        (" " * 300_000 + "x" + " " * 3, "   "),
    ],
)
def test_separator(text, separator):
    assert separator_of(text) == separator
    assert (text[: len(text) - len(separator)] + separator) == text


def naive_separator(text):
    """The longest end of the text that is white space and then opening marks."""
    for start in range(len(text) + 1):
        end = text[start:]
        marks = end.lstrip()
        if all(c in OPENING for c in marks):
            return end
    raise AssertionError


OPENING = '([{<"“‘„‚‟‛«‹❝❛「『《〈【〔（［｛＜¿¡'


@given(st.text(st.sampled_from(["a", " ", "\n", "(", '"', "“", ")", ".", "「", "\u00a0", "-"]), max_size=12))
def test_the_separator_equals_the_naive_one(text):
    assert separator_of(text) == naive_separator(text)


WORDS = ["Pack", "go", "Lima", "lima's", "(Lima", '"Lima"', "Limas", "New", "Oslo", "l'Lima", "-Lima"]
STEP = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@given(st.lists(STEP, min_size=1, max_size=9))
def test_a_cut_gives_the_script_back(steps):
    """Text, separator and mention stand one after another in the rendered script; the object is not named before.

    What stands before lacks its capital.
    """
    cut = first_cut(Q, tuple(steps), make_fact(new=None))
    full_text = render(Q, tuple(steps))
    if cut is None:
        assert "lima" not in full_text.casefold()
        return
    assert full_text.startswith(cut.text + cut.separator + cut.mention.text)
    assert cut.mention.start == len(cut.text) + len(cut.separator)
    assert cut.text == cut.text.rstrip()
    assert all(m.doubt for m in find_object(blank_step_labels(cut.text), Object(text="Lima")))
    assert full_text[: cut.mention.start].count("\nStep ") == cut.step


@pytest.mark.parametrize(
    ("steps", "old", "new", "step"),
    [
        (["Go to New York", "Go to York"], "York", "New York", 2),
        (["Go to New York"], "York", "New York", None),
        (["Go to York"], "New York", "York", None),
        (["Go to New York"], "New York", "York", 1),
    ],
)
def test_the_other_objects_longer_name_is_no_place_to_cut(steps, old, new, step):
    cut = first_cut(Q, tuple(steps), make_fact("Zzyzx", old, new))
    assert (cut and cut.step) == step


@pytest.mark.parametrize(
    ("step", "old", "text", "separator"),
    [
        ("Rome is next", "Rome", "How to go?\nStep 1:", " "),  # the mention opens the script
        ('"Rome"', "Rome", "How to go?\nStep 1:", ' "'),
        ("(Rome)", "Rome", "How to go?\nStep 1:", " ("),
        ("坐火车去北京", "北京", "How to go?\nStep 1: 坐火车去", ""),
        ("ไปกรุงเทพ", "กรุงเทพ", "How to go?\nStep 1: ไป", ""),
        ("서울에서 산다", "서울", "How to go?\nStep 1:", " "),
        ("Go to\u00a0Rome", "Rome", "How to go?\nStep 1: Go to", "\u00a0"),
        ("Drive to L'Aquila", "Aquila", "How to go?\nStep 1: Drive to L'", ""),
        ("Ask Bras\u00edlia's port", "Brasilia", "How to go?\nStep 1: Ask", " "),
    ],
)
def test_cuts_at_the_start_and_in_other_scripts(step, old, text, separator):
    cut = first_cut(Q, (step,), make_fact("Zzyzx", old, None))
    assert cut is not None and (cut.text, cut.separator, cut.step) == (text, separator, 1)
    assert render(Q, (step,))[cut.mention.start : cut.mention.end] == cut.mention.text


@pytest.mark.parametrize(
    ("steps", "old", "step", "message"),
    [
        (["Learn about Nippon", "Fly to Japan"], "Japan", 1, "Nippon"),
        (["Pack", "Learn about Nippon"], "Japan", 2, "Nippon"),
        (["Fly to the USA", "Tour the United States"], "United States", 1, "USA"),
        (["Call an Italian", "Pack"], "Italy", None, None),  # a derived word is no place to cut
        (["Carve the turkey", "Sleep"], "Turkey", 1, "turkey"),
        (["Leave the square", "Pay by Square"], "Square", 2, "Square"),
    ],
)
def test_where_a_script_is_cut(steps, old, step, message):
    cut = first_cut(Q, tuple(steps), make_fact("Zzyzx", old, None))
    assert (cut and cut.step, cut and cut.mention.text) == (step, message)
    assert bool(cut and cut.doubt) == (steps == ["Carve the turkey", "Sleep"])
