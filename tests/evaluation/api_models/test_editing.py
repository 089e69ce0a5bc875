"""Editing closed models by their prompt: what is sent, which methods and options are refused."""

from __future__ import annotations

import pytest

from construction.llm.replies import read
from construction.llm.request_formats import RequestFormat, body_of
from construction.llm.step import Message, PlainText, Request
from curation.files.artifact_cache import Cache
from curation.shipped import mini_split
from evaluation.api_models.editing import ApiScriptStep, PromptOnlyModel, api_requests, make_editor
from evaluation.metrics.text_level.probes import GO_ON
from evaluation.metrics.text_level.script_parser import INSTRUCTION
from schemas.core.errors import DataError, UserError

CASES = [c for c in mini_split().cases if c.fact.change == "counterfactual"]


def test_what_is_sent(tmp_path):
    editors = {n: make_editor(n, "gpt-x", Cache(tmp_path)) for n in ("none", "prompt")}
    case, step = CASES[0], ApiScriptStep("gpt-x")
    prompts = {(a.editor, a.goes_on, a.item): step.prompt(a)[0].content for a in api_requests([case], editors)}
    question, prompt = case.questions[0], case.prompts[0]
    plain = prompts["none", False, question.key]
    assert plain == f"{INSTRUCTION}\n\n{question.text}"
    fact = f"{case.fact.fact_prompt} {case.fact.new.text}. "
    assert prompts["prompt", False, question.key] == f"{INSTRUCTION}\n\n{fact}{question.text}"
    assert prompts["prompt", True, prompt.key] == f"{GO_ON}\n\n{fact}{prompt.text}"
    assert len(prompts) == 2 * (len(case.questions) + len(case.prompts))
    assert len(api_requests([case], editors, goes_on=False)) == 2 * len(case.questions)


@pytest.mark.parametrize("name", ["rome", "ft", "memit", "lora", "alphaedit"])
def test_methods_that_need_weights_are_refused(name, tmp_path):
    with pytest.raises(UserError, match="needs the weights of the model, which a closed model does not show"):
        api_requests(CASES[:1], {name: make_editor(name, "gpt-x", Cache(tmp_path))})


def test_options_of_methods(tmp_path):
    with pytest.raises(DataError, match="options of 'ike'"):
        make_editor("ike", "gpt-x", Cache(tmp_path), {"k": 0})
    with pytest.raises(UserError, match="did you mean 'prompt'"):
        make_editor("promt", "gpt-x", Cache(tmp_path))
    with pytest.raises(UserError, match="needs the weights"):
        _ = PromptOnlyModel("gpt-x").layout


def test_plain_text_replies_need_no_schema():
    from construction.llm.reply_cache import StoredOutcome

    request = Request((Message(role="user", content="Write"),), PlainText, {})
    for form in (RequestFormat(), RequestFormat(reply="object"), RequestFormat(reply="text")):
        body = body_of("m", request, form)
        assert "response_format" not in body and body["messages"] == [{"role": "user", "content": "Write"}]
    status, value, _ = read(
        StoredOutcome(kind="reply", raw='{"not": "read"} as it is', finish="length", at="t"), PlainText
    )
    assert (status, value) == ("ok", PlainText(text='{"not": "read"} as it is', cut=True))
    assert read(StoredOutcome(kind="refused", message="no", at="t"), PlainText)[0] == "refused"
