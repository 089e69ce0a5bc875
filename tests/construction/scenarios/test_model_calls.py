"""What is promised of model calls, seen from the command line: limits, budgets, prices, errors, batches, endpoints."""

from __future__ import annotations

import json
import threading
import time
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from scedit.commands import cli
from schemas.core.errors import UserError
from tests.support.facts import make_fact, write_facts
from tests.support.scripted_server import Batches, Raw, ScriptedServer, completion, field

PLACES = ["Lima", "Tokyo", "Cairo", "Quito", "Accra", "Dakar", "Hanoi", "Kabul", "Minsk", "Perth", "Tunis", "Zagreb"]


class Done(NamedTuple):
    code: int
    out: str
    err: str


def scedit(*line):
    """A command line in this process, its errors as ``scedit.commands.main`` shows them."""
    result = CliRunner().invoke(cli, list(map(str, line)))
    if isinstance(result.exception, UserError):
        return Done(1, result.stdout, f"{result.stderr}Error: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def construct(tmp_path):
    """Constructs one question and one script for each of the first facts; gives the outcome."""

    def run(url, *options, facts=3, store="s.duckdb", model="m", text=False):
        edits = [make_fact(f"Country {n}", place, "Oslo") for n, place in enumerate(PLACES[:facts])]
        path = write_facts(tmp_path / "facts.jsonl", edits)
        line = ["construct", path, "--store", tmp_path / store, "--model", model, *([] if text else ["--json"])]
        line += ["--base-url", url] if url else []
        return scedit(*line, "--no-verify", "--questions", 1, "--candidates", 1, "--neighbours", 0, *options)

    run.folder = tmp_path
    return run


def good(payload):
    """A question and a script that every check lets pass."""
    user = payload["messages"][-1]["content"].split("\n\nReply with one JSON object")[0]
    if "Question: " in user:
        steps = ["Search for some information", "Call a friend", f"Travel to {field(user, 'Object')}"]
        return json.dumps({"steps": steps})
    return json.dumps({"questions": [f"How can a visitor get to know {field(user, 'Subject')}?"]})


def counted(payload, into=700, out=100):
    body = completion(good(payload))
    body["usage"] = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
    return Raw(body=body)


def of(payload, n):
    """Whether a call is about that fact."""
    return f"Country {n}" in payload["messages"][-1]["content"]


@pytest.mark.parametrize("options", [["--rpm", "200"], ["--tpm", "120000"]], ids=str)
def test_requests_and_tokens_a_minute(construct, options):
    at = []

    def answer(payload):
        at.append(time.monotonic())
        return counted(payload)

    with ScriptedServer(answer) as server:
        assert construct(server.url, *options, "--concurrency", "16", facts=12).code == 0
    assert len(at) == 24 and max(at) - min(at) > 1.0  # a tenth of a minute's worth at once, the rest evenly


def test_so_many_calls_at_once_and_no_more(construct):
    now, most, guard = [0], [0], threading.Lock()

    def answer(payload):
        with guard:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with guard:
            now[0] -= 1
        return good(payload)

    with ScriptedServer(answer) as server:
        assert construct(server.url, "--concurrency", "3", facts=8).code == 0
    assert most[0] == 3


def test_errors_are_sorted_and_told(construct, monkeypatch):
    """One fact each: fails in passing, never works, refused, unreadable for good, mended, good, its script refused."""
    monkeypatch.setattr("construction.llm.client.pause", lambda *a, **k: 0.0)
    records: dict[int, int] = {}

    def answer(payload):
        n = next(n for n in range(7) if any(f"Country {n}" in m["content"] for m in payload["messages"][-3:]))
        nth = records[n] = records.get(n, 0) + 1
        if n == 0 and nth <= 2:
            return Raw(500, {"error": {"message": "oops"}})
        if n == 1:
            return Raw(400, {"error": {"message": "This model's maximum context length is 9 tokens."}})
        if n == 2:
            return Raw(body=completion(None, refusal="I can't."))
        if n == 6 and nth > 1:
            return Raw(body=completion(None, refusal="Not that."))
        if n == 3 or (n == 4 and nth == 1):
            return '{"questions": "not a list"}'
        return good({"messages": payload["messages"][:-2] if n == 4 and nth == 2 else payload["messages"]})

    with ScriptedServer(answer) as server:
        construction = construct(server.url, facts=7)
        repeat = construct(server.url, facts=7)
    assert construction.code == repeat.code == 0
    assert records == {0: 4, 1: 1, 2: 2, 3: 4, 4: 3, 5: 2, 6: 3}, "what is refused or unreadable has two attempts"
    result = json.loads(construction.out)
    assert (result["done"], result["kept"]) == (7, 3) and result["funnel"][0]["total"] == 7
    facts, questions = result["reasons"]
    assert (facts["kind"], facts["check"], facts["label"], facts["count"]) == ("fact", "reply_usable", "unscored", 3)
    assert {reason.partition(":")[0] for _, reason, _ in facts["examples"]} == {"permanent", "refused", "unparseable"}
    assert (questions["kind"], questions["check"], questions["count"]) == ("question", "reply_usable", 1)
    assert questions["examples"][0][1] == "refused: Not that."
    complaints = [p["messages"][-1]["content"] for p in server.requests if len(p["messages"]) > 3]
    warnings = [text for text in complaints if "cannot be used" in text]
    assert len(warnings) == 3 and all("valid list" in text and "questions" in text for text in warnings)


def test_the_table_says_how_calls_without_a_usable_reply_are_asked_again(construct):
    with ScriptedServer(lambda p: Raw(body=completion(None, refusal="no")) if of(p, 0) else good(p)) as server:
        output = construct(server.url, text=True).out
        assert "fact: reply_usable says unscored: refused: no" in output and "--retry-failed" in output
        server.answer = good
        assert "retry-failed" not in construct(server.url, "--retry-failed", text=True).out


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text('checked = 2026-02-03\n[models]\n"m" = { input = 1000, output = 1000, batch_input = 500 }\n')
    return path


def test_a_budget_in_dollars_stops_the_run_and_a_higher_one_goes_on(construct, prices):
    with ScriptedServer(counted) as server:
        line = ("--prices", prices, "--reply-tokens", 200, "--concurrency", 4)
        construction = construct(server.url, *line, "--max-cost", 12, facts=12)
        assert construction.code == 1 and "Traceback" not in construction.err
        last = construction.err.strip().splitlines()[-1]
        assert last.startswith("Error: the budget is used up: $") and "of $12 and" in last
        assert last.endswith("give the same command again with a higher --max-cost to resume; every reply that was "
                             "paid for is kept")  # fmt: skip
        value = 0.8 * len(server.requests)
        assert 4.0 < value <= 12 and f"${value:.4f} of $12" in last
        result = construct(server.url, *line, "--max-cost", 1000, facts=12)
        assert result.code == 0 and len(server.requests) == 24, "nothing was paid for twice"
        assert json.loads(result.out)["kept"] == 12
        assert f"${0.8 * 24:.4f} of $1000 and 19,200 tokens spent (earlier runs on this journal included)" in result.err


def test_a_dry_run_counts_the_calls_that_are_made_and_says_their_price(construct, prices):
    line = ("--prices", prices, "--dry-run")
    report = json.loads(construct("http://127.0.0.1:1/v1", *line, facts=12).out)
    assert not (construct.folder / "s.duckdb").exists() and not (construct.folder / "s.duckdb.llm.jsonl").exists()
    half = json.loads(construct(None, *line, "--batch", facts=12).out)
    with ScriptedServer(good) as server:
        result = construct(server.url, "--prices", prices, facts=12)
    assert result.code == 0 and len(server.requests) == report["question_calls"] + report["script_calls"] == 24
    total = sum(len(m["content"]) for p in server.requests for m in p["messages"]) / 4
    assert report["tokens_in"] == pytest.approx(total, rel=0.05)
    assert report["cost"] == pytest.approx((report["tokens_in"] + report["tokens_out"]) / 1000)
    assert [s["stage"] for s in report["stages"]] == ["questions", "scripts"]
    assert half["cost"] == pytest.approx((report["tokens_in"] * 500 + report["tokens_out"] * 1000) / 1e6)
    reloaded = json.loads(construct(None, *line, facts=12).out)
    assert (reloaded["question_calls"], reloaded["script_calls"], reloaded["cost"]) == (0, 0, 0.0), "all is cached"


def test_a_dry_run_in_words(construct, prices):
    text = scedit_text(
        construct, "--prices", prices, "--max-cost", "1", "--max-tokens", "100", "--author", "gpt-4o-mini"
    )
    head, *rows, over, advice = text.strip().splitlines()
    assert head.startswith("3 facts to edit and 0 neighbour facts: 15 calls (3 for questions, 3 for scripts, 9 for the")
    assert [r.split("  ")[1] for r in rows] == ["questions", "scripts, gpt-4o-mini", "verify, m", "total"]
    assert len({r.index(" calls ") for r in rows}) == len({r.index("$") for r in rows}) == 1
    assert over.startswith("That is more than --max-cost 1 and --max-tokens 100")
    assert advice == (
        "Prices: $1000 in and $1000 out a million tokens, as of 2026-02-03; check them, and give your own with "
        "--prices FILE."
    )
    unknown = scedit_text(construct, model="qwen")
    assert "$1" not in unknown and "no price is known for 'qwen': write checked = " in unknown
    assert "as of 2026-" in scedit_text(construct, model="gpt-4o-mini-2024-07-18"), "the shipped table has dates"


def scedit_text(construct, *options, model="m"):
    """The dry run without --json."""
    path = construct.folder / "facts.jsonl"
    construct(None, "--dry-run", model=model)
    line = ("construct", path, "--store", construct.folder / "x.duckdb", "--questions", 1, "--neighbours", 0)
    process = scedit(*line, "--model", model, "--dry-run", *options)
    assert process.code == 0, process.err
    return process.out


def test_what_cannot_be_is_refused_before_anything_is_made(construct, monkeypatch, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text("checked = 2026-02-03\n[models]\nm = { input = -1, output = 0 }\n")
    refusals = {
        "--max-cost needs a price; no price is known for 'm'": ("--max-cost", 1),
        "no such": ("--prices", tmp_path / "none.toml", "--max-cost", 1),
        "models.m.input": ("--prices", bad, "--max-cost", 1),
    }
    for words, options in refusals.items():
        result = construct("http://127.0.0.1:1/v1", *options)
        assert result.code == 1 and words in result.err, result.err
    result = construct(None, "--batch", model="embedded")
    assert "embedded: a model on this machine has no batches; leave --batch out" in result.err
    for option, value in (("--rpm", 0), ("--tpm", -1), ("--concurrency", 0), ("--max-cost", -1), ("--timeout", 0)):
        result = CliRunner().invoke(cli, ["construct", "x", "-s", "y", option, str(value)])
        assert result.exit_code == 2 and f"Invalid value for '{option}'" in result.stderr
    assert not (tmp_path / "s.duckdb").exists() and not (tmp_path / "s.duckdb.llm.jsonl").exists()
    monkeypatch.delenv("OPENAI_API_KEY")
    result = construct(None, model="gpt-4o")
    assert result.code == 1 and "OPENAI_API_KEY is not set" in result.err and "--api-key-env" in result.err


def test_a_cancelled_batch_is_told_and_the_same_command_goes_on(construct):
    batches = Batches(polls=2, fate=lambda n: ("cancelled", 0.5) if n == 0 else "completed")
    with ScriptedServer(good, batches=batches) as server:
        line = ("--batch", "--batch-poll", "0.02")
        result = construct(server.url, *line, facts=4)
        assert result.code == 1 and "batch batch-0 was cancelled; give the same command again" in result.err
        repeat = construct(server.url, *line, facts=4)
    assert repeat.code == 0 and json.loads(repeat.out)["kept"] == 4
    assert [len(x) for x in batches.submitted] == [4, 4, 2]
