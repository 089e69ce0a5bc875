"""``scedit run-api`` from the outside: the table, records in the store, resuming, price, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.shipped import mini_split
from curation.splits.split_file import make_split, write_split
from curation.store.store import Store
from evaluation.cli.api_models import run_api as command
from evaluation.metrics.text_level.probes import GO_ON
from evaluation.runs.plan import choose
from schemas.core.errors import UserError
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
    sentence = f"{case.fact.fact_prompt} {case.fact.new.text}" in text
    name = case.fact.new.text if sentence else case.fact.old.text
    return f"{name} and on" if text.startswith(GO_ON) else f"Step 1: Pack a bag\nStep 2: Think of {name}"


def test_the_table_of_four_methods(tmp_path):
    """none answers with the old object; the three methods in context say the new fact, so the reply names the new."""
    store = tmp_path / "s.duckdb"
    with ScriptedServer(obedient) as server:
        report = data(call(store, *TFIDF, "--limit", "2", "--json", server=server))
        count = len(server.requests)
        assert all("response_format" not in r and len(r["messages"]) == 1 for r in server.requests)
        repeat = data(call(store, *TFIDF, "--limit", "2", "--json", server=server))
        assert len(server.requests) == count and repeat == report, "the journal answers"
    assert "not to be compared" in report["note"] and report["cases"] == 2
    rows = {(r["editor"], r["kind"]): r for r in report["rows"]}
    assert [e for e, kind in rows if kind == "script"] == ["none", "prompt", "ike", "script_ike"]
    for (editor, kind), row in rows.items():
        assert row["texts"] == row["answered"] and row["refused"] == row["failed"] == row["waiting"] == 0
        which = "old" if editor == "none" else "new"
        assert row[which]["mean"] == 100.0, (editor, kind, row)
        assert (row["in_format"] is None) == (kind == "rest")
    assert rows["none", "script"]["in_format"]["mean"] == 100.0
    with Store.open(store) as db:
        scripts = list(db.all(GeneratedScript))
        assert len(scripts) == sum(r["texts"] for r in report["rows"] if r["kind"] == "script")
        assert {(s.editor, s.edited) for s in scripts} == {
            ("none", False), ("prompt", True), ("ike", True), ("script_ike", True),
        }  # fmt: skip
        (line,) = db.lineage(scripts[0].id)
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
        report = data(CliRunner().invoke(judge, [*line, "--json", "--base-url", server.url]))
    assert report["outcome"]["ratings"] == 4 * 4
    assert any("gpt-y judges scripts of gpt-x, both of OpenAI" in f for f in report["flags"])


def test_refusals_and_failures_are_counted_apart(tmp_path):
    """Of each case the endpoint refuses the first question, the model declines the second; no prompt is taken."""
    cases = choose(mini_split(), kinds=("counterfactual",), limit=2)

    def answer(payload):
        text = of(payload)
        if text.startswith(GO_ON):
            return Raw(400, {"error": {"message": "maximum context length"}})
        if any(c.questions[0].text in text for c in cases):
            return Raw(body=completion(None, refusal="I will not"))
        declines = any(c.questions[1].text in text for c in cases)
        return "I'm sorry, but I can't help with that." if declines else obedient(payload)

    store = tmp_path / "s.duckdb"
    with ScriptedServer(answer) as server:
        report = data(call(store, "--editors", "none", "--limit", "2", "--concurrency", "1", "--json", server=server))
    script, rest = report["rows"]
    texts = sum(len(c.questions) for c in cases)
    assert (script["texts"], script["refused"], script["answered"]) == (texts, 4, texts - 4)
    assert rest["failed"] == rest["texts"] > 0 and rest["new"]["mean"] is None
    with Store.open(store) as db:
        assert sum(s.refused for s in db.all(GeneratedScript)) == 4
        assert db.get(cases[0].fact.key) == cases[0].fact


def test_price_and_batches(tmp_path):
    store = tmp_path / "s.duckdb"
    dry = data(call(store, "--editors", "none,prompt", "--limit", "2", "--dry-run", "--json"))
    calls = 2 * sum(len(c.questions) + len(c.prompts) for c in CASES[:2])
    assert dry["calls"] == calls and dry["cost"] is None and not store.exists()
    with ScriptedServer(obedient, batches=Batches()) as server:
        options = ("--editors", "none", "--no-continue", "--limit", "1", "--batch", "--batch-poll", "0.05", "--json")
        report = data(call(store, *options, server=server))
        assert not server.requests and sum(map(len, server.batches.submitted)) == report["rows"][0]["texts"]
        text = call(store, *options[:5], server=server).stdout
        assert not server.requests, "the journal answers"
    assert "not to be compared with edited open models (Table 3)" in text and "old first" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "rome.k=1"), "not among --editors"),
        (("--editors", "none,promt"), "did you mean 'prompt'"),
        (("--editors", "ft"), "needs the weights"),
        (("--split", "other"), "other"),
        (("--split-file", "none.jsonl"), "none.jsonl"),
        (("--support", "none.jsonl"), "none.jsonl"),
        (("--set", "ike.k=0"), "ike"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_said_before_a_call(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True):
        pass
    with ScriptedServer(obedient) as server:
        wrong = call(tmp_path / "s.duckdb", *options, server=server)
        assert not server.requests
    assert isinstance(wrong.exception, UserError) and message in str(wrong.exception)


@pytest.mark.parametrize(
    "options", [("--editors", ","), ("--limit", "0"), ("--temperature", "3"), ("--max-cost", "-1"), ("--samples", "2")]
)
def test_options_off_their_scale(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert call(tmp_path / "s.duckdb", *options).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_cases_of_a_file_and_a_journal_of_ones_own(tmp_path: Path) -> None:
    """Counterfactual cases only, whatever the split holds; the journal lies where it is said."""
    split, store, journal = tmp_path / "split.jsonl", tmp_path / "s.duckdb", tmp_path / "replies.jsonl"
    temporal = [c for c in mini_split().cases if c.fact.change == "temporal"]
    write_split(make_split("mine", [*CASES[:2], *temporal[:2]]), split)
    options = ("--split-file", str(split), "--journal", str(journal), "--editors", "none", "--no-continue", "--json")
    with ScriptedServer(obedient) as server:
        report = data(call(store, *options, server=server))
        assert len(server.requests) == report["rows"][0]["texts"] == sum(len(c.questions) for c in CASES[:2])
    assert report["cases"] == 2 and journal.exists() and not (tmp_path / "s.duckdb.llm.jsonl").exists()
    write_split(make_split("late", temporal[:2]), split)
    none = call(store, *options)
    assert isinstance(none.exception, UserError) and "no case of the split 'late'" in str(none.exception)


def test_texts_that_wait_are_told_and_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("construction.llm.client.pause", lambda *a, **k: 0.0)
    store, busy = tmp_path / "s.duckdb", [True]
    last = CASES[0].questions[-1].text

    def answer(payload):
        return Raw(503, {"error": {"message": "busy"}}) if busy[0] and last in of(payload) else obedient(payload)

    split = tmp_path / "split.jsonl"
    write_split(make_split("mine", CASES[:1]), split)
    options = ("--split-file", str(split), "--editors", "none", "--no-continue", "--json", "--concurrency", "1")
    with ScriptedServer(answer) as server:
        waits = call(store, *options, server=server)
        assert isinstance(waits.exception, UserError) and "1 text without" in str(waits.exception)
        assert json.loads(waits.stdout)["rows"][0]["waiting"] == 1, "the table is there all the same"
        busy[0], before = False, len(server.requests)
        report = data(call(store, *options, server=server))
        assert len(server.requests) - before == 1 and report["rows"][0]["waiting"] == 0
