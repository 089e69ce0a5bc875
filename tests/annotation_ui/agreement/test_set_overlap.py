"""The Jaccard index of two people's tags, by hand; empty sets; one document."""

from __future__ import annotations

import pytest

from annotation_ui.agreement.judgements import Judgement
from annotation_ui.agreement.report import jaccard, set_of
from schemas.raters import Rater


def tagged(item: str, person: str, tags: str, case: str = "") -> Judgement:
    return Judgement(item, case or item, Rater.person(person), "tags", tags)


def test_the_mean_over_cases_of_the_mean_over_items_and_pairs() -> None:
    judgements = [
        tagged("a", "ann", "time, place"),
        tagged("a", "bo", "time"),
        tagged("a", "cem", ""),
        tagged("b", "ann", "cause", case="a"),
        tagged("b", "bo", "cause", case="a"),
        tagged("c", "ann", "cause"),
        tagged("c", "bo", "place"),
    ]
    estimate = jaccard(judgements)
    assert estimate.value == pytest.approx((((0.5 + 0 + 0) / 3 + 1) / 2 + 0) / 2)
    assert (estimate.n, estimate.cases) == (3, 2)


def test_items_where_nobody_chose_anything_say_nothing() -> None:
    empty = [tagged("a", "ann", ""), tagged("a", "bo", "")]
    assert jaccard(empty).value is None and jaccard([]).value is None
    assert jaccard([tagged("a", "ann", "time")]).value is None, "one person agrees with nobody"
    assert jaccard([*empty, tagged("b", "ann", "time"), tagged("b", "bo", "place")]).value == 0.0


def test_one_document_has_no_interval() -> None:
    same = [tagged(item, who, "time", case="d") for item in "ab" for who in ("ann", "bo")]
    estimate = jaccard(same)
    assert (estimate.value, estimate.low, estimate.cases) == (1.0, None, 1)
    assert set_of("time, place") == {"time", "place"}
