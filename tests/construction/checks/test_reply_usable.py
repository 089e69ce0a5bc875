from __future__ import annotations

from construction.checks import CheckInputs, judge


def test_no_reply_is_unscored_never_dropped(fact):
    (verdict,) = judge("reply", CheckInputs(fact=fact, failure="refused: no"))
    assert (verdict.label, verdict.item_id, verdict.reason) == ("unscored", fact.id, "refused: no")
