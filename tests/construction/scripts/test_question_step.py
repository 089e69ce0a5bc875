"""The step that asks for questions."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from construction.llm.request_formats import RequestFormat, body_of
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import LIMITED, QuestionStep, ReasonedQuestions, question_key
from tests.support.facts import make_fact


def test_neighbour_facts_are_asked_about_without_a_new_object():
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=1, edited=False)
    assert "Oslo" not in step.prompt(call)[-1].content


def test_embedded_questions_come_one_a_call_in_different_situations():
    step = QuestionStep(FILES.load("questions", "embedded"))
    calls = step.calls(make_fact(), count=4, edited=True)
    texts = [step.prompt(c)[-1].content for c in calls]
    assert len(set(texts)) == 4 and not any("Lima" in t or "Oslo" in t for t in texts)
    seeds = {step.sample(c, "k", str(c.index), attempt=a).parameters["seed"] for c in calls for a in (0, 1)}
    assert len(seeds) == 8


def test_questions_are_tidied_and_each_kept_once():
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=3, edited=True)
    reply = ReasonedQuestions(
        why="", questions=["How to\n go\x00?", "how to  GO?", "", "How to run?", "How to sit?", "How to sleep?"]
    )
    items = step.parse(call, reply)
    assert [q.text for q in items] == ["How to go?", "How to run?", "How to sit?"]
    assert items[0].key == question_key(make_fact(), "how to go?")
    assert items[0].key.startswith("f/Peru/q-") and len(items[0].key.split("q-")[1]) == 8


def test_the_relation_is_shown():
    step, fact = QuestionStep(FILES.load("questions", "paper")), make_fact()
    text = step.prompt(step.calls(fact, count=4, edited=True)[0])[-1].content
    assert f"Relation: {fact.relation.label or fact.relation.id}" in text
    bare = make_fact().model_copy(update={"relation": make_fact().relation.model_copy(update={"label": "{} is by"})})
    assert "Relation: ... is by\n" in step.prompt(step.calls(bare, count=1, edited=True)[0])[-1].content


def test_a_strict_schema_has_the_thought_first_and_no_default():
    step = QuestionStep(FILES.load("questions", "paper"))
    request = step.sample(step.calls(make_fact(), count=4, edited=True)[0], "k", "0", attempt=0)
    json_schema = body_of("m", request, RequestFormat())["response_format"]["json_schema"]
    assert (
        json_schema["strict"]
        and list(json_schema["schema"]["properties"]) == ["why", "questions"] == json_schema["schema"]["required"]
    )
    assert "default" not in json.dumps(json_schema) and json_schema["schema"]["additionalProperties"] is False


def test_a_thought_may_be_missing_and_is_never_kept():
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=2, edited=True)
    bare = ReasonedQuestions.model_validate_json('{"questions": ["How to go?"]}')
    loud = ReasonedQuestions(why="Oslo " * 500, questions=["How to go?"])
    assert step.parse(call, bare) == step.parse(call, loud)


@pytest.mark.parametrize(
    "bad", ['{"why": "x"}', '{"why": 3, "questions": ["How?"]}', '{"why": "x", "questions": []}', "[]"]
)
def test_a_thought_without_questions_is_refused_for_repair(bad):
    with pytest.raises(ValidationError):
        ReasonedQuestions.model_validate_json(bad)


@pytest.mark.parametrize(("count", "times"), [(1, 1), (8, 1), (LIMITED, 1), (LIMITED + 1, 2), (60, 6)])
def test_the_limit_on_a_reply_grows_with_the_questions(count, times):
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=count, edited=True)
    assert step.sample(call, "k", attempt=0).parameters["max_tokens"] == 400 * times
    free = QuestionStep(FILES.load("questions", "paper").model_copy(update={"parameters": {}}))
    assert "max_tokens" not in free.sample(call, "k", attempt=0).parameters
