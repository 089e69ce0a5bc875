from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.ratings import Rating


@pytest.mark.parametrize(("value", "ok"), [(1, True), (7, True), (0, False), (8, False)])
def test_ratings_stay_on_their_scale(value: int, ok: bool) -> None:
    fields = {"key": "r", "item_id": "x", "aspect": "coherence", "rater": "person:a", "form": "rate_script@1"}
    if ok:
        assert Rating.model_validate({**fields, "value": value}).value == value
    else:
        with pytest.raises(ValidationError, match="outside 1 to 7"):
            Rating.model_validate({**fields, "value": value})


def test_unscored_ratings_say_why() -> None:
    with pytest.raises(ValidationError, match="says why"):
        Rating(key="r", item_id="x", aspect="coherence", rater="judge:m", form="f@1", value=None)


FIELDS = {"key": "r", "item_id": "x", "aspect": "coherence", "rater": "person:a", "form": "rate_script@1", "value": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": "likert5"}, "unknown scale 'likert5'; allowed: likert7"),
        ({"aspect": "beauty"}, "executability"),
        ({"rater": "somebody"}, "pattern"),
        ({"rater": "person:"}, "pattern"),
        ({"form": "rate_script"}, "pattern"),
        ({"value": 3.5}, "integer"),
        ({"value": None, "reason": " "}, "says why"),
    ],
)
def test_ratings_that_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Rating.model_validate({**FIELDS, **change})


def test_an_unscored_rating_with_its_reason_is_kept() -> None:
    assert Rating.model_validate({**FIELDS, "value": None, "reason": "cannot be read"}).value is None
