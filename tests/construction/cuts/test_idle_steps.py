"""Steps that have no bearing on what a question asks, : memories, games, what was made where."""

from __future__ import annotations

import pytest

from construction.cuts.cut_place import CutPlace
from construction.cuts.idle_steps import idle_step


@pytest.mark.parametrize(
    "place",
    [
        CutPlace("Hire a driver raised in ", "P36"),
        CutPlace("Wear the boots made near ", "P131"),
        CutPlace("Bring a dog bred in ", "P36"),
        CutPlace("Hire two maids trained in ", "P159"),
        CutPlace("Win a quiz round about ", "P36"),
        CutPlace("Tell the joke about ", "P36"),
        CutPlace("Recall a holiday near ", "P131"),
        CutPlace("Picture a beach in ", "P36"),
        CutPlace("Teach the parrot to say ", "P131"),
        CutPlace("Get the guests to shout ", "P178"),
        CutPlace("Send mum a postcard of ", "P36"),
        CutPlace("Play a ", "P36", after=" radio station"),
        CutPlace("Borrow robes from ", "P131", after=" fans"),
        CutPlace("Sell your shares in ", "P178"),
        CutPlace("Beat ", "P50", after=" at chess", person=True),
        CutPlace("Sleep under a poster of ", "P50", person=True),
        CutPlace("Juggle balls for ", "P178"),
        CutPlace("Sneeze at ", "P50", person=True),
    ],
)
def test_a_step_without_bearing_on_the_question_says_so(place: CutPlace) -> None:
    assert idle_step(place).startswith("nothing leads to the object")


@pytest.mark.parametrize(
    "place",
    [
        CutPlace("Ask at the office located in ", "P159"),
        CutPlace("Use the form issued in ", "P36"),
        CutPlace("Buy a ticket to ", "P36"),
        CutPlace("Sign the papers filed in ", "P36"),
        CutPlace("Book a room near the gate in ", "P131"),
        CutPlace("Buy a car made in ", "P495"),
        CutPlace("Say it in ", "P103"),
        CutPlace("Teach the class to sing in ", "P103"),
        CutPlace("Buy shares in ", "P749"),
        CutPlace("Read a book about ", "P50", person=True),
        CutPlace("Quote ", "P50", person=True),
        CutPlace("Get tickets from ", "P131", after=" station"),
        CutPlace("Need a visa for ", "P36"),
        CutPlace("", "P36"),
    ],
)
def test_a_step_with_bearing_on_it_is_left_alone(place: CutPlace) -> None:
    assert idle_step(place) == ""
