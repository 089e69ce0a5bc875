from __future__ import annotations

import pytest

from construction.scripts import Draft, script_of
from construction.truncate import cut_script, first_cut, separator_of
from schemas.facts import Entity, Object
from schemas.scripts import ScriptQuestion, render

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
    "the object is Step": (["Walk", "Dance the step"], Object(text="Step"), None, (2, "Dance the", " ", "step")),
    "no spaces": (["先去東京塔"], Object(text="東京"), None, (1, "先去", "", "東京")),
    "absent": (["Walk"], Object(text="Paris"), None, None),
}


@pytest.mark.parametrize("name", CASES)
def test_first_cut(name):
    steps, old, subject, expected = CASES[name]
    cut = first_cut(Q, tuple(steps), old=old, subject=subject)
    if expected is None:
        assert cut is None
        return
    step, end, separator, mention = expected
    assert cut is not None
    assert (cut.step, cut.separator, cut.mention.text) == (step, separator, mention)
    assert cut.text.endswith(end)
    whole = render(Q, tuple(steps))
    assert whole[: cut.mention.start] == cut.text + cut.separator
    assert whole[cut.mention.start : cut.mention.end] == mention


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
    ],
)
def test_separator(text, separator):
    assert separator_of(text) == separator


def test_prompt_of_a_script_keeps_offset_and_targets(fact):
    question = ScriptQuestion(key="f/Peru/q-1", fact=fact.key, text="How to visit Peru?")
    script = script_of(question, Draft(["Pack", "Fly to Lima's airport"]))
    prompt = cut_script(fact, question, script)
    assert prompt is not None
    assert prompt.key == f"{script.key}/p"
    assert prompt.text == "How to visit Peru?\nStep 1: Pack\nStep 2: Fly to"
    assert prompt.targets == ("Lima", "Oslo")
    assert render(question.text, script.steps)[prompt.offset :].startswith("Lima's")
