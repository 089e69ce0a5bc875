"""What is lost while events and documents are constructed: listed by stage, the commonest first."""

from __future__ import annotations

import pytest

from construction.report.funnel import CountRow, Funnel, percent_of


class Small(Funnel):
    names = ("drawn",)
    stages = ("draw", "checks")
    width = 6

    def rows(self, *, stored: bool) -> list[CountRow]:
        return [("drawn", self.n["drawn"], "")]


def test_losses_are_listed_by_stage_then_by_number_then_by_reason() -> None:
    funnel = Small()
    assert funnel.lines() == ["  drawn        0", "", "0 calls made."]
    for reason, count in (("b", 2), ("a", 2), ("c", 1200)):
        funnel.lose("checks", reason, count)
    funnel.lose("draw", "z")
    funnel.lose("draw", "z")
    funnel.lose("draw", "never", 0)
    assert funnel.losses() == [("draw", "z", 2), ("checks", "c", 1200), ("checks", "a", 2), ("checks", "b", 2)]
    funnel.n["calls"] = 1
    lines = funnel.lines(stored=True)
    assert lines[1:5] == ["", "Lost, by reason:", "       2  draw        z", "   1,200  checks      c"]
    assert lines[-1] == "1 call cached."


def test_a_count_or_stage_that_the_funnel_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        Small().n["draws"] += 1
    with pytest.raises(ValueError, match="tuple"):
        Small().lose("drew", "z")


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent_of(0, 0), percent_of(0, 4), percent_of(4, 4)) == ("", "0.0 %", "100.0 %")
