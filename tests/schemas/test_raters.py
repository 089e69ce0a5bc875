"""Who rated, read from what records store, and written back as it was."""

from __future__ import annotations

import pytest

from schemas.raters import Rater, rater_of_rating, rater_of_verdict
from schemas.ratings import Rating
from schemas.verdicts import Verdict


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
