"""Rare labels of steps, and characters that nobody sees."""

from __future__ import annotations

import pytest

from construction.scripts.cleaning import clean_steps
from construction.scripts.rare_labels import plain_label

LABELS = ["4.) ", "(4). ", "[4]. ", "No. 4: ", "Nr. 4: ", "Action 4: ", "Part 4: ", "Point four - ", "S4: ",
          "step-4: ", "step_4. ", "Step #4: ", "4th: ", "4th step: ", "4、", "４．", "（４） ", "\u200b4. ", "iv - ",
          "**4.)** "]  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_a_rare_label_goes_since_the_fourth_rules(label: str) -> None:
    steps = ["Pack a bag", "Rest well", "Wait there", f"{label}Fly to Rome"]
    assert clean_steps(steps)[3] == "Fly to Rome"


@pytest.mark.parametrize(
    "step",
    [
        "No 4 tram goes there",
        "4th Street is near",
        "Point at the map",
        "Part with 4 coins",
        "Move 2 tables",
        "4.5 litres are enough",
        "S1 trains leave early",
        "First, pack",
        "Item numbers matter",
        "Pay $5 or $6 there",
        "iv drips hurt",
    ],
)
def test_what_is_no_label_stays(step: str) -> None:
    assert clean_steps(["Pack", "Rest", "Wait", step])[3] == step


def test_a_name_that_looks_like_a_label_stays_whole() -> None:
    assert clean_steps(["Pack", "4th: The Band plays"], names=["4th: The Band"])[1] == "4th: The Band plays"


def test_hidden_characters_and_dollars_go() -> None:
    assert plain_label("Fly to \u200f\u202bBo\u00adgo\u200btá\u202c") == "Fly to Bogotá"
    assert plain_label("Fly to $Rome$ soon") == "Fly to Rome soon"
