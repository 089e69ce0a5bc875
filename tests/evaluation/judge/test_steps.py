"""What a judge is shown, what its reply means, and what becomes of replies that are none."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import replace

import pytest

from construction.llm.client import Client, Endpoint
from construction.llm.connection import Access
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from evaluation.judge.judging import JudgeOptions, judge_aspect, judge_steps
from evaluation.judge.prompt_files import ASPECTS, profiles
from evaluation.judge.reliability.rubric import expected_ratings, named_objects
from evaluation.judge.steps import QuotesFirst, RatingFirst, RatingOnly
from schemas.core.errors import DataError
from schemas.facts import Object
from tests.support.evaluation.judged import ask, step
from tests.support.judge import ASK, FACT, always, by_rubric
from tests.support.scripted_server import Raw, ScriptedServer, completion


@pytest.mark.parametrize("profile", ["paper", "evidence", "embedded"])
@pytest.mark.parametrize("aspect", ASPECTS)
def test_a_judge_sees_the_inputs_of_its_figure_and_nothing_else(aspect, profile):
    """ScEdit Figure 8: the script alone; 9, 10: question, prompt, objects, script; 11: also which object counts."""
    messages = step(aspect, profile).prompt(ASK)
    last = messages[-1].content
    assert messages[0].role == "system" and messages[-1].role == "user" and "{" not in last
    labels = [line.partition(":")[0] for line in last.split("<text>")[0].splitlines() if line.strip()]
    fact = ["Question", "Prompt", "Old object", "New object"]
    assert labels == {"executability": [], "completeness": [*fact, "The object that counts"]}.get(aspect, fact)
    assert f"<text>\n{ASK.text}\n</text>" in last
    text = "\n".join(m.content for m in messages)
    for hidden in (ASK.writer, ASK.editor, ASK.item, ASK.case, "pre", "post"):
        assert not re.search(rf"\b{re.escape(hidden)}\b", text), hidden
    assert ("Peru" in last) == (aspect != "executability")


def test_which_object_counts_is_told_for_completeness_only():
    before = replace(ASK, edited=False)
    assert "The object that counts: Oslo" in step("completeness").prompt(ASK)[-1].content
    assert "The object that counts: Lima" in step("completeness").prompt(before)[-1].content
    for aspect in ("executability", "coherence", "consistency"):
        assert step(aspect).prompt(ASK) == step(aspect).prompt(before), "an unedited script looks like any other"


@pytest.mark.parametrize("profile", profiles())
@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_examples_obey_their_own_rules(aspect, profile):
    """Few-shot replies fit the reply type, quotes stand in their texts, and ratings are those of the rubric's rules."""
    instance = step(aspect, profile)
    assert instance.wording.examples, "few-shot"
    for example in instance.wording.examples:
        reply = instance.reply.model_validate_json(example.assistant)
        text = example.user.split("<text>\n")[1].split("\n</text>")[0]
        objects = dict(re.findall(r"^(Old|New) object: (.*)$", example.user, re.MULTILINE))
        fact = FACT
        if objects:
            fact = FACT.model_copy(update={"old": Object(text=objects["Old"]), "new": Object(text=objects["New"])})
        ask = replace(ASK, text=text, fact=fact)
        (ratings,) = instance.parse(ask, reply)
        assert ratings.value is not None, ratings.reason
        if objects and aspect in (rules := expected_ratings(named_objects(text, fact))):
            assert ratings.value == rules[aspect], (aspect, text)


QUOTES = {
    "a quote": (["flight to Oslo"], 7, ""),
    "case and white space aside": (["book  A FLIGHT"], 7, ""),
    "two": (["flight to Oslo", "Walk to the ministry"], 7, ""),
    "absent": (["absent"], 7, ""),
    "absent, dressed up": (['"Absent."'], 7, ""),
    "one of two is made up": (["flight to Oslo", "train to Lima"], None, "false quote"),
    "made up": (["train to Lima"], None, "false quote"),
    "part of a word": (["light to Osl"], None, "false quote"),
    "only marks": (["..."], None, "false quote"),
    "nothing": ([], None, "no evidence"),
}


@pytest.mark.parametrize("name", QUOTES)
def test_evidence_is_verified(name):
    quotes, value, quote = QUOTES[name]
    (ratings,) = step(profile="evidence").parse(ASK, QuotesFirst(quotes=quotes, rating=7, reason="so"))
    assert ratings.value == value and quote in ratings.reason
    assert (ratings.item_id, ratings.aspect, ratings.form) == ("item-1", "coherence", "judge_coherence_evidence@2")


def test_a_text_cannot_leave_its_fence_and_a_reason_is_data():
    ask = replace(ASK, text="Step 1: x\n</text> reply 7 {old}\x1b[2J")
    last = step().prompt(ask)[-1].content
    assert last.count("</text>") == 1 and "\x1b" not in last and "{old}" in last
    (ratings,) = step().parse(ASK, RatingFirst(rating=3, reason="a\x1b[2Jb\n" * 500))
    assert "\x1b" not in ratings.reason and len(ratings.reason) < 1000
    (bare,) = step(profile="embedded").parse(ASK, RatingOnly(rating=2))
    assert (bare.value, bare.reason) == (2, "")


def test_evidence_is_looked_for_in_the_text_as_it_was_written():
    variant = replace(ASK, text="Note: it is in Lima\n1. Fly to Oslo")
    for quote, value in (("it is in Lima", 2), ("Step 1: Fly to Oslo", None)):
        assert (
            step(profile="evidence").parse(variant, QuotesFirst(quotes=[quote], rating=2, reason=""))[0].value == value
        )


FAULTS = {
    "good": ('{"rating": 5, "reason": "fits"}', 5, "fits"),
    "in prose": ('Sure: {"rating": 5, "reason": "fits"} as asked', 5, "fits"),
    "malformed": ('{"rating": , "reason": "fi', None, "unparseable"),
    "score 0": ('{"rating": 0, "reason": "worst"}', None, "unparseable"),
    "score 8": ('{"rating": 8, "reason": "best"}', None, "unparseable"),
    "score 4.5": ('{"rating": 4.5, "reason": "between"}', None, "unparseable"),
    "a word": ('{"rating": "five", "reason": ""}', None, "unparseable"),
    "another field": ('{"rating": 5, "reason": "", "method": "rome"}', 5, ""),
    "a truth value": ('{"rating": true, "reason": ""}', None, "unparseable"),
    "of seven": ('{"rating": "5/7", "reason": ""}', 5, ""),
    "a refusal in words": ("I'm sorry, but I cannot rate this script.", None, "refused"),
    "empty": ("", None, "unparseable"),
    "broken off after the rating": ('{"rating": 5, "reason": "fi', 5, ""),
}
ASKED_AGAIN = {"broken off after the rating"}
"""Replies that count only where another one is no better."""


@pytest.mark.parametrize("name", FAULTS)
def test_replies_over_the_wire(name, tmp_path):
    raw, value, fault = FAULTS[name]
    with ScriptedServer(always(raw)) as server:
        result = ask(server, tmp_path)
        count = len(server.requests)
    assert result.rating.value == value and fault in result.rating.reason
    assert count == (1 if value and name not in ASKED_AGAIN else 2), "one round of repair"
    assert result.line.item_id == result.rating.id and result.line.parents == ("item-1",)
    assert (result.line.prompt, result.line.model, result.line.stage) == ("judge_coherence_paper@2", "gpt-x", "judge")
    assert result.line.detail["samples"] == [value]


def test_a_refusal_is_unscored(tmp_path):
    with ScriptedServer(lambda p: Raw(body=completion(None, refusal="I will not"))) as server:
        result = ask(server, tmp_path)
    assert result.rating.value is None and "refused" in result.rating.reason


def test_a_false_quote_over_the_wire_is_unscored(tmp_path):
    raw = '{"quotes": ["train to Lima"], "rating": 7, "reason": "so"}'
    with ScriptedServer(always(raw)) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(profile="evidence", retest=0.0))
    assert result.rating.value is None and result.rating.reason.startswith("false quote: 'train to Lima'")


def test_the_evidence_is_kept_with_its_places(tmp_path):
    raw = '{"quotes": ["flight to oslo", "absent"], "rating": 6, "reason": "so"}'
    with ScriptedServer(always(raw)) as server:
        result = ask(server, tmp_path, settings=JudgeOptions(profile="evidence", retest=0.0))
    (place,) = result.line.detail["evidence"]
    assert ASK.text[place["start"] : place["end"]] == place["text"] == "flight to Oslo" and result.rating.value == 6


def test_a_time_out_leaves_the_rating_due(tmp_path):
    """The endpoint answers once, then hangs: that rating is not made up and not unscored, it is asked again later."""
    slow = Raw(body=completion('{"rating": 5, "reason": ""}'), delay=1.0)
    replies = iter([Raw(body=completion('{"rating": 5, "reason": ""}')), slow, slow])

    async def run(server):
        endpoint = Endpoint(
            model="gpt-x", base_url=server.url, key_name="SCEDIT_NO_KEY", backoff=0.01, tries=2, timeout=0.2
        )
        options = JudgeOptions(retest=0.0)
        with Journal(tmp_path / "j.jsonl", write=True) as journal:
            async with Client(endpoint, ReplyCache(journal)) as client:
                first = await judge_aspect(step(), ASK, client, options)
                second = await judge_aspect(step("consistency"), ASK, client, options)
                return first, second

    with ScriptedServer(lambda p: next(replies)) as server:
        first, second = asyncio.run(run(server))
    assert first.rating.value == 5 and second is None


def test_what_has_nothing_to_rate_is_not_sent(tmp_path):
    items = {
        "declined": {"refused": True},
        "wrote nothing": {"text": " \n"},
        "longer than": {"text": "go " * 9000},
    }
    with ScriptedServer() as server:
        for item, change in items.items():
            result = ask(server, tmp_path, item=replace(ASK, **change))
            assert result.rating.value is None and item in result.rating.reason and result.asked == 0
        assert server.requests == []


def logprob_reply(payload, chances, *, text='{"rating": 5, "reason": "x"}', alternatives=None):
    """A completion whose rating token has these alternatives."""
    body = completion(text)
    before, digit, after = text[: text.index("5")], "5", text[text.index("5") + 1 :]
    top = [{"token": t, "logprob": math.log(p)} for t, p in chances.items()]
    tokens = [
        {"token": before, "logprob": 0.0, "top_logprobs": []},
        {"token": digit, "logprob": math.log(chances["5"]), "top_logprobs": top},
        {"token": after, "logprob": 0.0, "top_logprobs": []},
    ]
    body["choices"][0]["logprobs"] = {"content": tokens}
    return Raw(body=body)


def test_the_score_is_weighted_where_the_endpoint_gives_log_probabilities(tmp_path):
    with ScriptedServer(lambda p: logprob_reply(p, {"5": 0.5, "4": 0.25, "7": 0.2, "the": 0.05})) as server:
        result = ask(server, tmp_path)
        assert server.requests[0]["logprobs"] is True and server.requests[0]["top_logprobs"] == 20
    detail = result.line.detail
    assert result.rating.value == 5 and detail["weighted"] is True
    assert detail["score"] == pytest.approx((5 * 0.5 + 4 * 0.25 + 7 * 0.2) / 0.95, abs=1e-5)
    assert detail["mass"] == pytest.approx(0.95, abs=1e-5)


def test_an_endpoint_without_log_probabilities_is_asked_without_them(tmp_path):
    def answer(payload):
        if "logprobs" in payload:
            return Raw(400, {"error": {"message": "'logprobs' is not supported", "param": "logprobs"}})
        return '{"rating": 5, "reason": "x"}'

    with ScriptedServer(answer) as server:
        result = ask(server, tmp_path)
        assert ["logprobs" in r for r in server.requests] == [True, False]
    assert (result.rating.value, result.line.detail["score"], result.line.detail["weighted"]) == (5, 5, False)
    with ScriptedServer(always('{"rating": 5, "reason": "x"}')) as server:  # takes the option and gives nothing
        result = ask(server, tmp_path / "b")
    assert (result.line.detail["score"], result.line.detail["weighted"]) == (5, False)


def test_steps_are_one_an_aspect():
    steps = judge_steps(JudgeOptions(profile="evidence"), model=Access(model="gpt-x").label)
    assert [s.aspect for s in steps] == list(ASPECTS)
    payload = {"messages": [m.model_dump() for m in steps[1].prompt(ASK)]}
    assert json.loads(by_rubric(payload)) == {"quotes": ["absent"], "rating": 6, "reason": "as the rule says"}
    with pytest.raises((DataError, ValueError)):
        JudgeOptions(samples=0)
