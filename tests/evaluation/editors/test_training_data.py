"""What a trained method has seen: by key and by subject, neighbours included."""

from __future__ import annotations

from evaluation.editors.training_data import TrainingData
from schemas.cases import EventCase
from tests.support.arithmetic import make_case
from tests.support.events import event_case, make_event, make_fact_question


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


def test_events_share_their_keys_the_entities_of_their_template_and_what_is_asked_in_scope() -> None:
    role = {"role": "A", "entity": {"text": "Alba Rail", "aliases": ("Alba",)}}
    own = event_case(event=make_event(roles=(role,)))
    learnt = TrainingData.of("theirs", [own])
    assert learnt.shares(own) == "the case 'case/e/merger'"
    assert learnt.shares(event_case("another")) == "the event 'e/merger'"
    asked = make_fact_question(event="e/x", subject={"text": "ALBA"})
    other = EventCase(key="x", event=make_event("e/x", text="Corvo Foods moved."), facts=(asked,))
    assert learnt.shares(other) == "the subject 'ALBA'"
    outside = other.model_copy(update={"facts": (asked.model_copy(update={"scope": "out"}),)})
    assert learnt.shares(outside) is None
    assert TrainingData.of("facts", [make_case("Land01")]).shares(own) is None
