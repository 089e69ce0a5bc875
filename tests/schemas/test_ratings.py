"""Ratings, their rubrics, and who rated."""

from __future__ import annotations

import pytest

from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import stored_text
from schemas.raters import Rater, rater_of_rating, rater_of_verdict
from schemas.ratings import CONSISTENCY, RUBRICS, TENDENCY, Rating, rubric_of
from schemas.verdicts import Verdict
from tests.schemas.made_records import EVENT_RATING


@pytest.mark.parametrize("aspect", TENDENCY.aspects)
def test_ratings_of_open_answers_run_from_1_to_5(aspect: str) -> None:
    rating = Rating.model_validate({**EVENT_RATING, "aspect": aspect, "value": 5})
    assert rating.scale == "likert5" and "before_id" not in stored_text(rating)
    assert Rating.model_validate_json(stored_text(rating)) == rating
    for value in (0, 6, True, "4/5", 4.5):
        with pytest.raises(UserError) as error:
            validate(Rating, {**EVENT_RATING, "aspect": aspect, "value": value}, where="ratings.jsonl, line 3")
        text = str(error.value)
        assert "ratings.jsonl, line 3" in text and "\n" not in text and len(text) < 200, text
        if value in (0, 6):
            assert "is outside 1 to 5, the scale of the rubric 'tendency'" in text


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


@pytest.mark.parametrize(
    ("text", "form", "expected", "label", "program"),
    [
        ("person:ann", "rate_script@1", Rater("person", "ann"), "ann", False),
        ("person:synthetic-bob", "rate_script@1", Rater("program", "synthetic-bob"), "synthetic-bob", True),
        ("person:synthetica", "rate_script@1", Rater("person", "synthetica"), "synthetica", False),
        ("person:synthetic", "rate_script@1", Rater("person", "synthetic"), "synthetic", False),
        ("person:judge:x", "rate_script@1", Rater("person", "judge:x"), "judge:x", False),
        ("person:a/b", "rate_script@1", Rater("person", "a/b"), "a/b", False),
        ("person:ann", "rate_script_adjudicated@1", Rater("adjudicated", "ann"), "ann", False),
        ("person:synthetic-bob", "rate_script_adjudicated@1", Rater("adjudicated", "synthetic-bob"),
         "synthetic-bob", True),
        ("judge:gpt-x+evidence", "judge_coherence_evidence@1", Rater("judge", "gpt-x+evidence"),
         "judge:gpt-x+evidence", False),
        ("judge:synthetic-x", "judge_coherence_paper@1", Rater("judge", "synthetic-x"), "judge:synthetic-x", False),
        ("judge:person:x", "judge_coherence_paper@1", Rater("judge", "person:x"), "judge:person:x", False),
    ],
)  # fmt: skip
def test_who_made_a_rating(text: str, form: str, expected: Rater, label: str, program: bool) -> None:
    rating = Rating(key="r", item_id="x", aspect="coherence", rater=text, form=form, value=4)
    assert rating.rated_by == rater_of_rating(text, form) == expected
    assert (expected.stored, expected.label, expected.is_program) == (text, label, program)
    assert "rated_by" not in rating.model_dump()


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("leak_in_prompt@1", None),
        ("person:ann/filter_question@2", Rater("person", "ann")),
        ("person:a/b/filter_question@2", Rater("person", "a/b")),
        ("person:synthetic-ann/filter_question@2", Rater("program", "synthetic-ann")),
        ("person:adjudicated/filter_question@2", Rater("person", "adjudicated")),
        ("person:ann/filter_question_adjudicated@2", Rater("adjudicated", "ann")),
    ],
)
def test_who_made_a_verdict(by: str, expected: Rater | None) -> None:
    verdict = Verdict(key="v", item_id="x", by=by, label="keep")
    assert verdict.judged_by == rater_of_verdict(by) == expected
    if expected is not None:
        assert expected.by(by.rpartition("/")[2]) == by


@pytest.mark.parametrize("text", ["ann", "", "people:ann", "gpt-x"])
def test_what_is_no_rater_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="person:NAME or judge:MODEL"):
        rater_of_rating(text)
