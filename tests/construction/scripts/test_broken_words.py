from __future__ import annotations

import pytest

from benchmarks.checks.script_benchmark import labelled_scripts
from construction.scripts.broken_words import broken_words
from curation.shipped import mini_split


@pytest.mark.parametrize(
    ("step", "wrong"),
    {
        "Send the letter bymail to Oslo": "'bymail' is two words run together",
        "Bymail send it": "'bymail' is two words run together",
        "Walk ofyour station": "'ofyour' is two words run together",
        "Write a letterto the king": "'letterto' is two words run together",
        "Send the letter by to Oslo": "'to' cannot follow 'by'",
        "Wait at the in Oslo": "'in' cannot follow 'the'",
        "Go to to Oslo": "'to' cannot follow 'to'",
        "Get the console and at Oslo": "'at' cannot follow 'and'",
        "Speak about his in Oslo": "'in' cannot follow 'his'",
        "Outline the about Oslo": "'about' cannot follow 'the'",
        "Take a the bus": "'the' cannot follow 'a'",
        "Take the bus to the": "the step ends with 'the'",
        "Bring your": "the step ends with 'your'",
    }.items(),
)
def test_steps_that_nobody_would_write(step: str, wrong: str) -> None:
    assert broken_words(step) == wrong


@pytest.mark.parametrize(
    "step",
    [
        "",
        "...",
        "Log in to the site",
        "Walk out of the station",
        "Put the coat on",
        "Ask in Oslo and in Rome",
        "Find out what to look for",
        "Withdraw money within town today",
        "Go by, to be early",
        "Stay at Bytown tonight",
        "Ask for the rugby tour",
        "Bypass the town by the river",
    ],
)
def test_steps_that_are_in_order(step: str) -> None:
    assert broken_words(step) is None


def test_a_name_may_be_odd() -> None:
    assert broken_words("Buy a record of The The", ["The The"]) is None is broken_words("Ask at tomail", ["ToMail"])
    assert broken_words("Buy a record of The The the", ["The The"]) == "the step ends with 'the'"


def test_no_step_of_ours_is_broken() -> None:
    """Labelled scripts and the scripts of mini are plain English: what is found in them is a fault of the rule."""
    steps = {step for script in labelled_scripts("tuning") for step in script.written}
    steps |= {
        step.partition(": ")[2] for c in mini_split().cases for p in c.prompts for step in p.text.split("\n")[1:-1]
    }
    assert len(steps) > 800 and not {step: wrong for step in steps if (wrong := broken_words(step))}
