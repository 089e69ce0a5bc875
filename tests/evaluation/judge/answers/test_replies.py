"""Replies of a judge to open answers: what is read, what is refused, and the rule between accuracy and overall."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evaluation.judge.answers.replies import ConsistencyRating, ExplainedTendencyRatings, TendencyRatings
from schemas.core.json_text import canonical_text

GOOD = {"accuracy": 4, "coherence": 5, "comprehensiveness": 3, "overall": 5, "reason": "fine"}


def reply(**changes: Any) -> ExplainedTendencyRatings:
    return ExplainedTendencyRatings.model_validate({**GOOD, **changes}, strict=False)


def test_a_reply_as_asked_for() -> None:
    judgement = reply()
    assert judgement.ratings == {"accuracy": 4, "coherence": 5, "comprehensiveness": 3, "overall": 5}
    assert (judgement.explanation, judgement.read_as) == ("fine", "")
    assert ConsistencyRating.model_validate({"consistency": 5}).ratings == {"consistency": 5}
    bare = {k: v for k, v in GOOD.items() if k != "reason"}
    assert TendencyRatings.model_validate(bare).explanation == ""


@pytest.mark.parametrize("message", ["4", "4/5", " 4 out of 5 ", 4.0, "4.0"])
def test_a_rating_that_is_plainly_one_is_read_and_on_record(message: Any) -> None:
    judgement = reply(accuracy=message)
    assert judgement.ratings["accuracy"] == 4 and "accuracy" in judgement.read_as and "read as 4" in judgement.read_as


@pytest.mark.parametrize(
    "message", [True, False, 0, 6, 7, -1, 4.5, "4/7", "4/10", "6/5", "four", "4 or 5", "", None, [4], float("inf")]
)
def test_a_rating_off_the_scale_is_refused(message: Any) -> None:
    with pytest.raises(ValidationError, match="coherence"):
        reply(coherence=message)


@pytest.mark.parametrize("aspect", ["accuracy", "coherence", "comprehensiveness", "overall", "reason"])
def test_a_missing_aspect_is_refused_by_name(aspect: str) -> None:
    with pytest.raises(ValidationError, match=aspect):
        ExplainedTendencyRatings.model_validate({k: v for k, v in GOOD.items() if k != aspect})


@pytest.mark.parametrize(
    ("accuracy", "overall", "accepted_reply"), [(3, 3, True), (1, 1, True), (3, 4, False), ("2/5", 5, False)]
)
def test_the_rule_is_checked_on_every_reply(accuracy: Any, overall: int, accepted_reply: bool) -> None:
    if accepted_reply:
        assert reply(accuracy=accuracy, overall=overall).ratings["overall"] == overall
    else:
        with pytest.raises(ValidationError, match="where accuracy is 3 or less, overall is 3 or less, too"):
            reply(accuracy=accuracy, overall=overall)


def test_what_nobody_asked_for_is_passed_over_and_on_record() -> None:
    judgement = reply(beauty=5)
    assert "passed over: beauty" in judgement.read_as and "beauty" not in canonical_text(judgement)
    with pytest.raises(ValidationError):
        ExplainedTendencyRatings.model_validate([GOOD])
