"""Labels and marks that go , and fractions that stay."""

from __future__ import annotations

import pytest

from construction.scripts.cleaning import clean_steps


@pytest.mark.parametrize(
    ("steps", "clean"),
    [
        (("4. Pack", "Fly"), ("Pack", "Fly")),
        (("Pack", "01. Fly"), ("Pack", "Fly")),
        (("Pack", "10) Fly"), ("Pack", "Fly")),
        (("1a. Pack", "1b. Fly"), ("Pack", "Fly")),
        (("1.1 Pack", "1.2 Fly"), ("Pack", "Fly")),
        (("1.1. Pack", "1.2. Fly"), ("Pack", "Fly")),
        (("Step III: Pack",), ("Pack",)),
        (("Step 1 | Pack",), ("Pack",)),
        (("Step 1 > Pack",), ("Pack",)),
        (("Step 1 (easy): Pack",), ("Pack",)),
        (("◆ Pack", "✅ Fly", "❖ Sit", "‒ Go"), ("Pack", "Fly", "Sit", "Go")),
        (("&lt;b&gt;Step 1:&lt;/b&gt; Fly to &lt;b&gt;Rome&lt;/b&gt;",), ("Fly to Rome",)),
        (("Fly to Ro**me**", "Fly to **R**ome"), ("Fly to Rome", "Fly to Rome")),
        (("Fly to [[Rome]]", "Fly to {{Rome}}", "Fly to [[Roma|Rome]]"), ("Fly to Rome",) * 3),
    ],
)
def test_a_label_or_mark_goes_that_the_fifth_rules_left(steps: tuple[str, ...], clean: tuple[str, ...]) -> None:
    assert clean_steps(steps) == clean


@pytest.mark.parametrize("place", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "step",
    [
        "3/4 cups of milk go in",
        "3/4 of the guests stay",
        "1/2 hour later, stir",
        "2/4 time is counted",
        "1/4 mile on, turn left",
        "1/4-inch screws hold it",
    ],
)
def test_a_fraction_is_no_label_wherever_it_stands(step: str, place: int) -> None:
    steps = ["Mix the flour", "Heat the oven", "Wait a little", "Bake it"]
    steps[place - 1] = step
    assert clean_steps(steps) == tuple(steps)
    steps = [step] * 4
    assert clean_steps(steps) == tuple(steps)


def test_counts_of_all_steps_are_still_labels() -> None:
    assert clean_steps(["1/4 Pack", "2/4 Fly", "3/4 Sit", "4/4 Go"]) == ("Pack", "Fly", "Sit", "Go")
    assert clean_steps(["1/4: Pack", "Sit", "3/4: cups are packed", "Go"]) == ("Pack", "Sit", "cups are packed", "Go")


@pytest.mark.parametrize(
    "step",
    [
        "1. FC Köln fans sing",
        "2 tickets are enough",
        "1.5 litres will do",
        "Step inside the hall",
        "3.30 is the time",
        "4.5 stars are enough",
        "1984 is read",
        "Step in: the door is open",
    ],
)
def test_what_only_looks_like_a_label_stays(step: str) -> None:
    assert clean_steps(["Pack", step, "Go"], names=("1. FC Köln",)) == ("Pack", step, "Go")
