"""Cells and retests by hand."""

from __future__ import annotations

import pytest

from evaluation.judge.ratings import length_correlation, retest_agreement
from evaluation.judge.summary import method_rating, summarise_ratings
from tests.support.evaluation.judged import given
from tests.support.judge import ASK


def test_retests_and_length_by_hand():
    looks = [given("a", 5, samples=[5], retest=5), given("b", 5, samples=[5], retest=3), given("c", 5, samples=[5])]
    looks.append(given("d", 5, samples=[5], retest=None))
    assert retest_agreement(looks) == (2, 1, 1, 1.0, 1)
    asks = {
        f"i{n}": ASK.__class__(**{**vars(ASK), "item": f"i{n}", "case": f"c{n}", "text": "go " * (n + 1)})
        for n in range(7)
    }
    table = length_correlation([given(f"i{n}", n + 1) for n in range(7)], asks)
    assert table.value == pytest.approx(1.0) and table.n == 7
    assert not length_correlation([given("i0", 3)], asks).defined


def test_a_cell_by_hand():
    """Two scripts of case a (6 and unscored), one of case b (2): means of case means, bounds over all scripts."""
    rating = method_rating("judge:x", "m", "rome", True, "coherence", [("a", 6.0), ("a", None), ("b", 2.0)])
    assert (rating.scripts, rating.scored, rating.cases, rating.mean) == (3, 2, 2, 4.0)
    assert (rating.worst, rating.best) == ((3.5 + 2) / 2, (6.5 + 2) / 2)
    assert rating.by_case is None, "two cases are too few for an interval"


def test_adjudicated_ratings_are_left_out():
    fair = given("item-1", 5, "person:ann")
    lead = fair._replace(rating=fair.rating.model_copy(update={"form": "rate_script_adjudicated@1", "key": "other"}))
    assert [c.scripts for c in summarise_ratings([fair, lead], [ASK]).cells] == [1]
