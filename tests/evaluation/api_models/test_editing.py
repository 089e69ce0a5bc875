"""Closed models: what is sent, what comes back as records, which methods are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from construction.llm.replies import read
from construction.llm.request_formats import RequestFormat, body_of
from construction.llm.step import Message, PlainText, Request
from curation.files.artifact_cache import Cache
from curation.shipped import mini_split
from curation.store.store import Store
from evaluation.api_models.editing import CONTINUE, ApiScriptStep, PromptOnlyModel, api_requests, make_editor
from evaluation.cli.api_models import run_api as command
from evaluation.metrics.text_level.script_parser import INSTRUCTION
from evaluation.runs.plan import choose
from schemas.core.errors import DataError, UserError
from schemas.generated_scripts import GeneratedScript
from tests.support.scripted_server import Batches, Raw, ScriptedServer, completion

CASES = [c for c in mini_split().cases if c.fact.change == "counterfactual"]
TFIDF = ("--set", "ike.similarity=tfidf", "--set", "script_ike.similarity=tfidf")


def call(store: Path, *args: str, server: ScriptedServer | None = None):
    line = ["--store", str(store), "--api-key-env", "SCEDIT_NO_KEY", "--model", "gpt-x", *args]
    return CliRunner().invoke(command, [*line, *(["--base-url", server.url] if server else [])])


def data(result):
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def of(payload) -> str:
    return payload["messages"][0]["content"]


def obedient(payload) -> str:
    """Names the new object where the message tells it, else the old one; in format where a script is asked for."""
    text = of(payload)
    case = next(c for c in CASES if c.fact.subject.text in text.rsplit("How ", 1)[-1])
    told = f"{case.fact.fact_prompt} {case.fact.new.text}" in text
    name = case.fact.new.text if told else case.fact.old.text
    return f"{name} and on" if text.startswith(CONTINUE) else f"Step 1: Pack a bag\nStep 2: Think of {name}"


def test_the_table_of_four_methods(tmp_path):
    """none answers with the old object; the three methods in context say the new fact, so the reply names the new."""
    store = tmp_path / "s.duckdb"
    with ScriptedServer(obedient) as server:
        found = data(call(store, *TFIDF, "--limit", "2", "--json", server=server))
        asked = len(server.requests)
        assert all("response_format" not in r and len(r["messages"]) == 1 for r in server.requests)
        again = data(call(store, *TFIDF, "--limit", "2", "--json", server=server))
        assert len(server.requests) == asked and again == found, "the journal answers"
    assert "not to be compared" in found["note"] and found["cases"] == 2
    rows = {(r["editor"], r["kind"]): r for r in found["rows"]}
    assert [e for e, kind in rows if kind == "script"] == ["none", "prompt", "ike", "script_ike"]
    for (editor, kind), row in rows.items():
        assert row["texts"] == row["answered"] and row["refused"] == row["failed"] == row["waiting"] == 0
        which = "old" if editor == "none" else "new"
        assert row[which]["mean"] == 100.0, (editor, kind, row)
        assert (row["in_format"] is None) == (kind == "rest")
    assert rows["none", "script"]["in_format"]["mean"] == 100.0
    with Store.open(store) as kept:
        scripts = list(kept.all(GeneratedScript))
        assert len(scripts) == sum(r["texts"] for r in found["rows"] if r["kind"] == "script")
        assert {(s.editor, s.edited) for s in scripts} == {
            ("none", False), ("prompt", True), ("ike", True), ("script_ike", True),
        }  # fmt: skip
        (line,) = kept.lineage(scripts[0].id)
        assert line.detail["closed"] and line.model == "gpt-x" and line.prompt == "closed_script@1"
        assert scripts[0].model == "gpt-x" and scripts[0].steps[0] == "Pack a bag"


def test_the_scripts_can_be_judged(tmp_path):
    from evaluation.cli.judge import judge

    store = tmp_path / "s.duckdb"
    with ScriptedServer(obedient) as server:
        data(call(store, "--editors", "none", "--no-continue", "--limit", "1", "--json", server=server))
    line = [
        str(store),
        "--api-key-env",
        "SCEDIT_NO_KEY",
        "--model",
        "gpt-y",
        "--no-control-items",
        "--retest",
        "0",
        "--json",
    ]
    with ScriptedServer(lambda p: '{"rating": 4, "reason": "x"}') as server:
        found = data(CliRunner().invoke(judge, [*line, "--json", "--base-url", server.url]))
    assert found["outcome"]["ratings"] == 4 * 4
    assert any("gpt-y judges scripts of gpt-x, both of OpenAI" in f for f in found["flags"])


def test_what_is_sent(tmp_path):
    editors = {n: make_editor(n, "gpt-x", Cache(tmp_path)) for n in ("none", "prompt")}
    case, step = CASES[0], ApiScriptStep("gpt-x")
    sent = {(a.editor, a.goes_on, a.item): step.prompt(a)[0].content for a in api_requests([case], editors)}
    question, prompt = case.questions[0], case.prompts[0]
    plain = sent["none", False, question.key]
    assert plain == f"{INSTRUCTION}\n\n{question.text}"
    fact = f"{case.fact.fact_prompt} {case.fact.new.text}. "
    assert sent["prompt", False, question.key] == f"{INSTRUCTION}\n\n{fact}{question.text}"
    assert sent["prompt", True, prompt.key] == f"{CONTINUE}\n\n{fact}{prompt.text}"
    assert len(sent) == 2 * (len(case.questions) + len(case.prompts))
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
    wrong = call(tmp_path / "s.duckdb", "--set", "rome.k=1")
    assert isinstance(wrong.exception, UserError) and "not among --editors" in str(wrong.exception)
    assert call(tmp_path / "s.duckdb", "--editors", ",").exit_code == 2
    assert call(tmp_path / "s.duckdb", "--help").exit_code == 0


def test_refusals_and_failures_are_counted_apart(tmp_path):
    """Of each case the endpoint refuses the first question, the model declines the second; no prompt is taken."""
    cases = choose(mini_split(), kinds=("counterfactual",), limit=2)

    def answer(payload):
        text = of(payload)
        if text.startswith(CONTINUE):
            return Raw(400, {"error": {"message": "maximum context length"}})
        if any(c.questions[0].text in text for c in cases):
            return Raw(body=completion(None, refusal="I will not"))
        declines = any(c.questions[1].text in text for c in cases)
        return "I'm sorry, but I can't help with that." if declines else obedient(payload)

    store = tmp_path / "s.duckdb"
    with ScriptedServer(answer) as server:
        found = data(call(store, "--editors", "none", "--limit", "2", "--concurrency", "1", "--json", server=server))
    script, rest = found["rows"]
    texts = sum(len(c.questions) for c in cases)
    assert (script["texts"], script["refused"], script["answered"]) == (texts, 4, texts - 4)
    assert rest["failed"] == rest["texts"] > 0 and rest["new"]["mean"] is None
    with Store.open(store) as kept:
        assert sum(s.refused for s in kept.all(GeneratedScript)) == 4
        assert kept.get(cases[0].fact.key) == cases[0].fact


def test_price_and_batches(tmp_path):
    store = tmp_path / "s.duckdb"
    dry = data(call(store, "--editors", "none,prompt", "--limit", "2", "--dry-run", "--json"))
    calls = 2 * sum(len(c.questions) + len(c.prompts) for c in CASES[:2])
    assert dry["calls"] == calls and dry["cost"] is None and not store.exists()
    with ScriptedServer(obedient, batches=Batches()) as server:
        options = ("--editors", "none", "--no-continue", "--limit", "1", "--batch", "--batch-poll", "0.05", "--json")
        found = data(call(store, *options, server=server))
        assert not server.requests and sum(map(len, server.batches.submitted)) == found["rows"][0]["texts"]
        text = call(store, *options[:5], server=server).stdout
        assert not server.requests, "the journal answers"
    assert "not to be compared with edited open models (Table 3)" in text and "old first" in text


def test_plain_text_replies_need_no_schema():
    from construction.llm.reply_cache import Stored

    request = Request((Message(role="user", content="Write"),), PlainText, {})
    for form in (RequestFormat(), RequestFormat(reply="object"), RequestFormat(reply="text")):
        body = body_of("m", request, form)
        assert "response_format" not in body and body["messages"] == [{"role": "user", "content": "Write"}]
    status, value, _ = read(Stored(kind="reply", raw='{"not": "read"} as it is', finish="length", at="t"), PlainText)
    assert (status, value) == ("ok", PlainText(text='{"not": "read"} as it is', cut=True))
    assert read(Stored(kind="refused", message="no", at="t"), PlainText)[0] == "refused"
