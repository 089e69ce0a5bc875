"""A panel's quorum and its figures."""

from __future__ import annotations

import pytest

from evaluation.judge.ratings import panel_scores
from schemas.core.errors import UserError
from tests.support.evaluation.judged import given


def test_a_panel_needs_its_quorum():
    answers = [given("a", 6, "judge:x"), given("a", 2, "judge:y", score=3.0), given("a", 7, "person:ann")]
    answers += [given("b", 5, "judge:x"), given("b", None, "judge:y")]
    two = {p.item: p for p in panel_scores(answers, quorum=2)}
    assert two["a"].score == 4.5 and two["b"].score is None and dict(two["b"].said) == {"judge:x": 5.0}
    assert {p.item: p.score for p in panel_scores(answers, quorum=1)}["b"] == 5.0
    assert {p.item: p.score for p in panel_scores(answers, quorum=1, judges=["judge:y"])} == {"a": 3.0, "b": None}
    with pytest.raises(UserError, match="a quorum of 3 cannot be met by 2 judges"):
        panel_scores(answers, quorum=3)
