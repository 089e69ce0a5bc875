from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from construction.events.steps import (
    FILES,
    ParaphraseReply,
    ParaphraseStep,
    TendencyAsk,
    TendencyReply,
    TendencyStep,
    TopicAsk,
    TopicReply,
    TopicStep,
)
from schemas.events.event import EventRole
from schemas.facts import Entity
from tests.support.construction.event_author import written_question
from tests.support.events import make_event
from tests.support.facts import SOURCE

EVENT = make_event(roles=(EventRole(role="A", entity=Entity(text="Alba Rail")),))


def tendencies(inside: list[dict[str, Any]], outer: list[dict[str, Any]] | None = None, *, most: int = 6) -> Any:
    step = TendencyStep(FILES.load_all("paper")["tendency_questions"])
    reply = TendencyReply.model_validate({"in_scope": inside, "out_of_scope": outer or []})
    (question,) = step.parse(TendencyAsk(EVENT, most, 2), reply)
    return question


@pytest.mark.parametrize("profile", FILES.profiles())
def test_every_profile_asks_with_everything_filled_in(profile: str) -> None:
    prompts = FILES.load_all(profile)
    requests = [
        ParaphraseStep(prompts["paraphrase"]).sample(EVENT, EVENT.key, attempt=0),
        TopicStep(prompts["topic_events"], SOURCE).sample(TopicAsk("Energy", 10, 0), "Energy", attempt=0),
        TendencyStep(prompts["tendency_questions"]).sample(TendencyAsk(EVENT, 6, 2), EVENT.key, attempt=0),
    ]
    for request in requests:
        assert "{" not in request.messages[-1].content
        assert request.parameters["max_tokens"] and request.sample == 0
    assert EVENT.text in requests[0].messages[-1].content and "Alba Rail" in requests[0].messages[-1].content


def test_the_examples_of_the_prompts_are_good_replies() -> None:
    for profile in FILES.profiles():
        prompts = FILES.load_all(profile)
        for prompt, reply in zip(prompts.values(), (ParaphraseReply, TopicReply, TendencyReply), strict=True):
            for example in prompt.examples:
                assert reply.model_validate_json(example.assistant.strip())


def test_two_calls_of_a_topic_are_two_requests() -> None:
    step = TopicStep(FILES.load_all("paper")["topic_events"], SOURCE)
    one, two = (step.sample(TopicAsk("Energy", 10, call), "Energy", attempt=call) for call in (0, 1))
    assert one.messages == two.messages and one.sample != two.sample


def test_options_are_put_in_a_drawn_order_and_the_right_one_stays_right() -> None:
    many = [written_question(f"How may price {n} change?", answer="C") for n in range(60)]
    verdicts = tendencies(many, most=60).questions
    assert {q.right_option for q in verdicts} == {"It may stay"}
    letters = [q.answer for q in verdicts]
    assert min(letters.count(letter) for letter in "ABC") >= 10  # not all C, as the model wrote them
    assert verdicts == tendencies(many, most=60).questions


def test_a_faulty_question_is_left_out_with_its_reason_and_the_others_stay() -> None:
    good = written_question("How may prices change?")
    equal = written_question("How may fares change?", options=["Rise", "rise.", "Fall"])
    verdicts = tendencies([good, equal, good])
    assert [q.text for q in verdicts.questions] == ["How may prices change?"]
    assert len(verdicts.refused) == 2
    assert "two options are equal" in verdicts.refused[0] and verdicts.refused[1] == "one question is asked twice"


def test_a_question_in_and_out_of_scope_is_neither() -> None:
    good = written_question("How may prices change?")
    verdicts = tendencies([good, written_question("How may fares change?")], [good])
    assert [q.text for q in verdicts.questions] == ["How may fares change?"]
    assert verdicts.refused == ("one question is in and out of scope",)


def test_more_than_asked_for_is_not_taken() -> None:
    assert len(tendencies([written_question(f"How may {n} change?") for n in range(9)]).questions) == 6


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"options": []}, "three options are needed, not none"),
        ({"options": ["a", "b"]}, "three options are needed, not 2"),
        ({"answer": "D"}, "'A', 'B' or 'C'"),
        ({"answer": "It may rise"}, "'A', 'B' or 'C'"),
        ({"question": " "}, "must not be empty"),
        ({"question": "x" * 3000}, "at most 2000"),
        ({"options": ["a", "b", "\x00"]}, "must not be empty"),
    ],
)
def test_a_malformed_reply_is_sent_back_with_the_reason(question: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TendencyReply.model_validate({"in_scope": [{**written_question("How?"), **question}], "out_of_scope": []})


@pytest.mark.parametrize("reply", [{"text": ""}, {"text": " \n"}, {"text": "x" * 2001}, {"text": "a", "more": 1}])
def test_a_paraphrase_is_a_text(reply: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ParaphraseReply.model_validate(reply)


def test_no_events_and_no_questions_are_no_reply() -> None:
    with pytest.raises(ValidationError, match="at least one event"):
        TopicReply.model_validate({"events": []})
    with pytest.raises(ValidationError, match="at least one question"):
        TendencyReply.model_validate({"in_scope": [], "out_of_scope": [written_question("How?")]})
