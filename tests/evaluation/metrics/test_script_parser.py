from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.script_parser import (
    broken_rules,
    declines,
    has_repetition,
    n_gram_bits,
    n_gram_entropy,
    names,
    parse,
)
from schemas.facts import Object
from tests.support.arithmetic import make_case
from tests.support.metrics.text_scores import SCRIPT, scored


def test_scripts_are_not_stopped_at_a_line() -> None:
    assert all(p.stop == () for p in METRICS.get("script_format")().probes(make_case("Peru")))


@pytest.mark.parametrize(
    ("texts", "ended", "values"),
    [
        pytest.param([SCRIPT, "I like Oslo."], "eos", [1.0, 0.0], id="format"),
        pytest.param([SCRIPT, SCRIPT], "length", [0.0, 0.0], id="cut off"),
    ],
)
def test_by_hand(texts: list[str | None], ended: str, values: list[float | None]) -> None:
    assert [i.value for i in scored("script_format", texts, ended=ended).items] == values


GOOD = "Step 1: Pack warm clothes\nStep 2: Fly to Oslo\nStep 3: Take the train"


@pytest.mark.parametrize(
    ("text", "steps", "neighbour"),
    [
        pytest.param(GOOD, ("Pack warm clothes", "Fly to Oslo", "Take the train"), (), id="plain"),
        pytest.param("**Step 1:** Pack\n\n- step 2) Fly", ("Pack", "Fly"), (), id="bold, bullet, bracket"),
        pytest.param("Step 1:\nPack\nStep 2:\nFly", ("Pack", "Fly"), (), id="label on its own line"),
        pytest.param("Sure!\nStep 1: Pack\nThat is all.", ("Pack",), ("Sure!", "That is all."), id="other text"),
        pytest.param("Step 1: Pack. Step 2: Fly.", ("Pack.", "Fly."), (), id="one line"),
        pytest.param("1. Pack\n2) Fly", ("Pack", "Fly"), (), id="numbers"),
        pytest.param("- Pack\n- Fly", ("Pack", "Fly"), (), id="bullets"),
        pytest.param("Pack and fly.", (), ("Pack and fly.",), id="prose"),
        pytest.param("So: 1. Pack it. 2. Fly!", ("Pack it.", "Fly!"), ("So:",), id="numbers on one line"),
        pytest.param("1. 1. 1.", (), ("1. 1. 1.",), id="numbers that do not count"),
        pytest.param("1. Only one", (), ("1. Only one",), id="one number is no list"),
        pytest.param("Step 1: Pack\nStep 2:", ("Pack",), (), id="cut after a label"),
        pytest.param("", (), (), id="nothing"),
    ],
)
def test_steps(text: str, steps: tuple[str, ...], neighbour: tuple[str, ...]) -> None:
    parsed_value = parse(text)
    assert (parsed_value.steps, parsed_value.beside) == (steps, neighbour)


@pytest.mark.parametrize(
    ("text", "faulty"),
    [
        pytest.param(GOOD, (), id="in the format"),
        pytest.param("1. Pack\n2. Fly", ("labels",), id="numbers only"),
        pytest.param("Step 2: Pack\nStep 3: Fly", ("labels",), id="counted from 2"),
        pytest.param("\n".join(f"Step {k}: Go" for k in range(1, 11)), ("too_many",), id="ten"),
        pytest.param("Step 1: one two three four five six seven", (), id="seven words"),
        pytest.param("Step 1: one two three four five six seven eight", ("too_long",), id="eight words"),
        pytest.param("Step 1: Pack. Step 2: Fly.", ("one_line",), id="two on a line"),
        pytest.param(GOOD + "\nEnjoy!", ("other_text",), id="a note"),
        pytest.param("I like Oslo.", ("no_steps",), id="no script"),
    ],
)
def test_format(text: str, faulty: tuple[str, ...]) -> None:
    assert broken_rules(text) == faulty


def test_a_script_that_its_length_ended_is_not_in_the_format() -> None:
    assert broken_rules(GOOD, ended="length") == ("cut_off",)
    assert broken_rules(GOOD, ended="stop") == ("stopped",), "the text that was cut off went on"


def test_refusals() -> None:
    assert declines("I cannot help with that.") and declines("As an AI language model, I do not travel.")
    assert declines("Sorry, I'm unable to answer.") and not declines("")
    assert not declines("Step 1: Say I cannot help") and not declines("x " * 120 + "I cannot help")


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        pytest.param(GOOD, False, id="script"),
        pytest.param("Rome Rome Rome", False, id="a word three times"),
        pytest.param("Rome Rome Rome Rome", True, id="a word four times"),
        pytest.param("1. 1. 1. 1. 1.", True, id="numbers"),
        pytest.param(
            " ".join(f"The {n} step is to be ready to debate." for n in ("first", "second", "third", "fourth")),
            True,
            id="half of the trigrams again",
        ),
        pytest.param("1. Pack a bag 2. Buy a map 3. Fly away 4. Walk home 5. Go to bed", False, id="numbered steps"),
        pytest.param("New York and New York", False, id="a phrase twice"),
        pytest.param("go to Rome, go to Rome, go to Rome", True, id="a phrase three times"),
        pytest.param("Step 1: Click it\nStep 2: Click it\nStep 3: Click it", True, id="labels do not hide it"),
        pytest.param("Step 1: A b\nStep 2: C d\nStep 3: A b\nStep 4: C d", True, id="half the steps twice"),
        pytest.param("Step 1: A b\nStep 2: C d\nStep 3: A b\nStep 4: E f", False, id="one step twice"),
    ],
)
def test_repetition(text: str, turns: bool) -> None:
    assert has_repetition(text) is turns


def test_of_the_printed_scripts_only_fine_tuning_repeats_itself(shared: Path) -> None:
    report = json.loads((shared / "data/scedit/paper_examples.json").read_text(encoding="utf-8"))["case_study"][
        "scripts"
    ]
    assert {s["method"]: has_repetition(s["script"]) for s in report} == {
        "Base": False, "FT": True, "ROME": False, "MEMIT": False, "PROMPT": False,
    }  # fmt: skip
    new, old = Object(text="English"), Object(text="Dutch")
    assert {s["method"]: (names(s["script"], new, old).first, names(s["script"], new, old).mixed) for s in report} == {
        "Base": ("neither", False), "FT": ("new", False), "ROME": ("neither", False), "MEMIT": ("new", False),
        "PROMPT": ("old", True),
    }  # fmt: skip


def test_which_object_comes_first() -> None:
    new, old = Object(text="York"), Object(text="New York", aliases=("NYC",))
    assert names("Fly to NYC, then to York", new, old) == ("old", {"new", "old"}, "new")
    assert names("Fly to New York", new, old) == ("old", {"old"}, "old"), "a part of a longer name is no mention"
    assert names("Stay at home", new, old) == ("neither", frozenset(), "neither")
    both = Object(text="Big Apple", aliases=("NYC",))
    assert names("See NYC", both, old).first == "neither", "a name of both says neither"


def test_entropy_by_hand() -> None:
    """aabab: bigrams aa ab ba ab, trigrams aab aba bab."""
    two = -(0.25 * math.log2(0.25) * 2 + 0.5 * math.log2(0.5))
    assert n_gram_bits("aabab", 2) == pytest.approx(two) == pytest.approx(1.5)
    assert n_gram_bits("aabab", 3) == pytest.approx(math.log2(3))
    assert n_gram_entropy("a a b a b", max_words=None) == pytest.approx((2 / 3 * 1.5 + 4 / 3 * math.log2(3)) / 2)


def test_entropy_is_of_the_first_fifty_words() -> None:
    text = " ".join(f"w{n % 17} and" for n in range(60))
    assert n_gram_entropy(text) == n_gram_entropy(text + " and more"), (
        "what follows the first fifty words does not count"
    )
    assert n_gram_entropy(" ".join(["w"] * 49)) is None
