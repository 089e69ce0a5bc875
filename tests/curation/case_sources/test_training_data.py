"""What a trained method has seen: by key and by subject, neighbours included."""

from __future__ import annotations

from curation.case_sources.support import TrainingData
from curation.loaders import load
from curation.shipped.fact_documents import documents_from_facts
from schemas.cases import DocumentCase, EventCase
from tests.support.arithmetic import make_case
from tests.support.documents.records import make_document, make_probe
from tests.support.events import event_case, make_event, make_fact_question


def test_keys_and_subjects_of_cases_and_their_neighbours() -> None:
    training_data = TrainingData.of("theirs", [make_case("Land01")])
    same, other = make_case("Land01"), make_case("Elsewhere")
    assert training_data.shares(same) == "the case 'case/land01'" and training_data.shares(other) is None
    assert (
        training_data.contains(same.fact)
        and training_data.contains(same.neighbours[0].fact)
        and not training_data.contains(other.fact)
    )


def test_another_key_about_the_same_subject_is_shared() -> None:
    training_data, twin = TrainingData.of("theirs", [make_case("Land01")]), make_case("LAND01")
    variant = twin.model_copy(update={"key": "case/x", "fact": twin.fact.model_copy(update={"key": "fact/x"})})
    assert training_data.shares(variant) == "the subject 'LAND01'"


def test_the_digest_is_that_of_the_cases() -> None:
    one, two = make_case("Land01"), make_case("Land02")
    assert TrainingData.of("a", [one]).digest == TrainingData.of("b", [one]).digest
    assert TrainingData.of("a", [one]).digest != TrainingData.of("a", [one, two]).digest


def test_events_share_their_keys_the_entities_of_their_template_and_what_is_asked_in_scope() -> None:
    role = {"role": "A", "entity": {"text": "Alba Rail", "aliases": ("Alba",)}}
    case = event_case(event=make_event(roles=(role,)))
    training_data = TrainingData.of("theirs", [case])
    assert training_data.shares(case) == "the case 'case/e/merger'"
    assert training_data.shares(event_case("another")) == "the event 'e/merger'"
    question = make_fact_question(event="e/x", subject={"text": "ALBA"})
    other = EventCase(key="x", event=make_event("e/x", text="Corvo Foods moved."), facts=(question,))
    assert training_data.shares(other) == "the subject 'ALBA'"
    variant = other.model_copy(update={"facts": (question.model_copy(update={"scope": "out"}),)})
    assert training_data.shares(variant) is None
    assert TrainingData.of("facts", [make_case("Land01")]).shares(case) is None


def test_documents_share_all_their_names_those_of_a_second_thing_too() -> None:
    """A network that learnt from two facts has seen both subjects, by every name that the facts know."""
    made = next(c for c in documents_from_facts(load("shipped").require()) if len(c.document.further_names) > 1)
    training_data = TrainingData.of("theirs", [made])
    for name in made.document.names:
        document = make_document("d/other", "Something else is said here.", entity=name.upper())
        probe = make_probe("What is ___?", "said", document="d/other")
        other = DocumentCase(key="case/other", document=document, probes=(probe,))
        assert training_data.shares(other) == f"the subject '{name.upper()}'"
