"""What a trained method has seen: by key and by subject, neighbours included."""

from __future__ import annotations

from evaluation.editors.training_data import TrainingData
from tests.support.arithmetic import make_case


def test_keys_and_subjects_of_cases_and_their_neighbours() -> None:
    seen = TrainingData.of("theirs", [make_case("Land01")])
    same, other = make_case("Land01"), make_case("Elsewhere")
    assert seen.shares(same) == "the case 'case/land01'" and seen.shares(other) is None
    assert seen.contains(same.fact) and seen.contains(same.neighbours[0].fact) and not seen.contains(other.fact)


def test_another_key_about_the_same_subject_is_shared() -> None:
    seen, twin = TrainingData.of("theirs", [make_case("Land01")]), make_case("LAND01")
    moved = twin.model_copy(update={"key": "case/x", "fact": twin.fact.model_copy(update={"key": "fact/x"})})
    assert seen.shares(moved) == "the subject 'LAND01'"


def test_the_digest_is_that_of_the_cases() -> None:
    one, two = make_case("Land01"), make_case("Land02")
    assert TrainingData.of("a", [one]).digest == TrainingData.of("b", [one]).digest
    assert TrainingData.of("a", [one]).digest != TrainingData.of("a", [one, two]).digest
