"""What is lost while events and documents are constructed: listed by stage, the commonest first."""

from __future__ import annotations

from construction.authoring.tally import CountedLoss, Tally, closing_lines, percent_of


class Stages(Tally):
    stages = ("draw", "checks")


def test_losses_are_listed_by_stage_then_by_number_then_by_reason() -> None:
    tally = Stages()
    for reason, count in (("b", 2), ("a", 2), ("c", 3)):
        tally.lose("checks", reason, count)
    tally.lose("draw", "z")
    tally.lose("draw", "z")
    tally.lose("draw", "never", 0)
    listed = [(loss.stage, loss.reason, loss.count) for loss in tally.losses()]
    assert listed == [("draw", "z", 2), ("checks", "c", 3), ("checks", "a", 2), ("checks", "b", 2)]


def test_closing_lines_with_and_without_losses() -> None:
    assert closing_lines((), 1, stored=False) == ["", "1 call made."]
    lines = closing_lines([CountedLoss(stage="checks", reason="drop by options", count=1200)], 0, stored=True)
    assert lines == ["", "Lost, by reason:", "   1,200  checks      drop by options", "", "0 calls cached."]


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent_of(0, 0), percent_of(0, 4), percent_of(4, 4)) == ("", "0.0 %", "100.0 %")
