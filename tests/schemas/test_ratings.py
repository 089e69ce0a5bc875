from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import stored_text
from schemas.ratings import CONSISTENCY, RUBRICS, TENDENCY, Rating, rubric_of


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
        ({"scale": "likert9"}, "unknown scale 'likert9'; allowed: likert7, likert5"),
        ({"scale": "likert5"}, "the scale of the rubric 'script' is likert7, not likert5"),
        ({"value": True}, "true is no rating: a whole number is"),
        ({"value": "4/7"}, "integer"),
        ({"aspect": "accuracy"}, "the rubric 'script' has no aspect 'accuracy': executability, coherence"),
        ({"rubric": "beauty"}, "unknown rubric 'beauty'; allowed: script, tendency, consistency"),
        ({"before_id": "y"}, "under the rubric 'script' names one text"),
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


def test_ratings_of_scripts_stay_as_they_were_byte_for_byte() -> None:
    """Ids and texts as version 0.1.0 had them: rubric and pair are in none of them."""
    key, name = "rating/rate_script@3/person:ann/coherence/i1", "person:ann"
    fields = {"key": key, "item_id": "i1", "aspect": "coherence", "value": 4, "rater": name, "form": "rate_script@3"}
    rating = Rating.model_validate({**fields, "reason": "fine"})
    text = (
        '{"key":"rating/rate_script@3/person:ann/coherence/i1","item_id":"i1","aspect":"coherence","scale":"likert7",'
        '"value":4,"rater":"person:ann","form":"rate_script@3","reason":"fine"}'
    )
    assert rating.id == "5aea261a9dbd3ed84de0" and rating.model_dump_json() == text
    assert stored_text(rating) == text and Rating.model_validate_json(text) == rating
    record = {"item_id": "i1", "aspect": "consistency", "value": None, "rater": "judge:m"}
    fields = {**record, "key": "k", "form": "judge_consistency_paper@2", "reason": "no usable reply: refused: no"}
    assert (
        Rating.model_validate(fields).id == "a7c110170638fdd6e09b" and Rating.model_validate(fields).rubric == "script"
    )


EVENT = {"key": "r", "item_id": "x", "rater": "judge:m", "form": "judge_tendency_paper@1", "rubric": "tendency"}
PAIR = {**EVENT, "aspect": "consistency", "rubric": "consistency", "before_id": "y", "value": 5}


@pytest.mark.parametrize("aspect", TENDENCY.aspects)
def test_ratings_of_open_answers_run_from_1_to_5(aspect: str) -> None:
    rating = Rating.model_validate({**EVENT, "aspect": aspect, "value": 5})
    assert rating.scale == "likert5"
    assert Rating.model_validate_json(stored_text(rating)) == rating and "before_id" not in stored_text(rating)
    assert rating.id != Rating.model_validate({**EVENT, "aspect": aspect, "value": 4}).id
    for value in (0, 6):
        with pytest.raises(ValidationError, match="is outside 1 to 5, the scale of the rubric 'tendency'"):
            Rating.model_validate({**EVENT, "aspect": aspect, "value": value})


@pytest.mark.parametrize("value", [0, 6, True, "4/5", 4.5])
def test_a_rating_off_its_scale_is_refused_in_one_sentence(value: object) -> None:
    with pytest.raises(UserError) as error:
        validate(Rating, {**EVENT, "aspect": "overall", "value": value}, where="ratings.jsonl, line 3")
    text = str(error.value)
    assert "ratings.jsonl, line 3" in text and "\n" not in text and len(text) < 200, text


def test_a_rating_of_a_pair_names_both_texts() -> None:
    rating = Rating.model_validate(PAIR)
    assert Rating.model_validate_json(rating.model_dump_json()) == rating and rating.before_id == "y"
    assert rating.id != Rating.model_validate({**PAIR, "before_id": "z"}).id
    with pytest.raises(ValidationError, match="under the rubric 'consistency' names both texts"):
        Rating.model_validate({**PAIR, "before_id": None})


@pytest.mark.parametrize(("accuracy", "overall", "faulty"), [(3, 4, True), (1, 5, True), (3, 3, False), (4, 1, False)])
def test_a_low_accuracy_caps_the_overall_rating(accuracy: int, overall: int, faulty: bool) -> None:
    assert bool(TENDENCY.fault({"accuracy": accuracy, "overall": overall})) is faulty
    assert not TENDENCY.fault({"accuracy": accuracy}) and not TENDENCY.fault({"overall": overall})


def test_every_rubric_has_its_scale_and_its_aspects() -> None:
    assert [(r.points, len(r.aspects), r.rates_pairs) for r in RUBRICS.values()] == [
        ((1, 7), 4, False),
        ((1, 5), 4, False),
        ((1, 5), 1, True),
    ]
    assert RUBRICS["script"].categories == (1, 2, 3, 4, 5, 6, 7) and CONSISTENCY.ends == (1.0, 5.0)
    assert rubric_of({"beauty"}) is None and rubric_of(set()) is None
    assert all(rubric_of(set(r.aspects)) is r for r in RUBRICS.values())
