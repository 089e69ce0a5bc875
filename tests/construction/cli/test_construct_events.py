from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from construction.cli.closing import construct_or_estimate
from construction.events.funnel import EventFunnel
from construction.llm.endpoint import Access
from construction.pipeline.runner import CountedWork, WritingJob
from construction.report.funnel import Funnel
from schemas.core.errors import UserError
from tests.support import forked_programs as programs
from tests.support.commands import invoke
from tests.support.construction.event_author import answer
from tests.support.construction.event_templates import sources
from tests.support.construction.kills import killed, slowly
from tests.support.construction.stored import contents, replies


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    files = sources(tmp_path)
    return [str(files["templates"]), "--facts-from", *files["facts"], "--events-per-template", "6"]


def test_events_and_questions_without_a_model(words: list[str], tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    result = invoke("data", "construct-events", *words, "--store", store, "--no-paraphrase", "--in-scope", 0,
                  "--out-of-scope", 0)  # fmt: skip
    assert [line.split()[-1] for line in result.splitlines() if "out of scope" in line] == ["12", "0"]
    assert "6 unknown, 6 background" in result and "0 calls made." in result
    assert not store.with_name("s.duckdb.llm.jsonl").exists()
    assert f"Next: scedit split freeze NAME --store {store}" in result
    assert "split" in invoke("split", "freeze", "x", "--store", store, "--out", tmp_path / "x.jsonl")


def test_a_dry_run_tells_calls_and_writes_nothing(words: list[str], tmp_path: Path) -> None:
    model = ("--model", "gpt-4.1", "--base-url", "http://127.0.0.1:9/v1", "--topic", "Energy", "--events-per-topic", 10)
    result = invoke("data", "construct-events", *words, "--store", tmp_path / "s.duckdb", *model, "--dry-run")
    assert result.startswith("6 events of templates; 23 calls, about ") and "$" in result
    assert list(tmp_path.glob("s.duckdb*")) == []


def command(words: list[str], folder: Path, url: str) -> list[Any]:
    return [
        *(programs.CLI, "data", "construct-events", *words, "--store", str(folder / "s.duckdb"), "--json"),
        *("--model", "scripted", "--base-url", url, "--topic", "Energy", "--topic", "Law", "--events-per-topic", "10"),
        *("--concurrency", "4", "--attempts", "1"),
    ]


@pytest.mark.slow
def test_killed_three_times_it_ends_with_the_same_store(words: list[str], tmp_path: Path, kills: int = 3) -> None:
    run = killed(partial(command, words), tmp_path, lambda: slowly(answer), kills=kills)
    assert run.sent <= run.calls + kills * 4, "only calls in flight are repeated"
    parts, whole = tmp_path / "parts/s.duckdb", tmp_path / "whole/s.duckdb"
    assert contents(parts) == contents(whole) and replies(parts) == replies(whole)
    assert run.parts.pop("calls") < run.whole.pop("calls") and run.parts == run.whole


class OpenCalls(CountedWork):
    """A construction two of whose calls got no answer."""

    def run(self, **_: Any) -> Funnel:
        self.funnel.n["unfinished"], self.funnel.quality = 2, "plumbing"
        return self.funnel


@pytest.mark.parametrize("as_json", [False, True])
def test_counts_with_open_calls_are_shown_and_then_refused(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    work = OpenCalls(WritingJob(store=Path("my.duckdb"), access=Access(model="local")), EventFunnel())
    work.asks = False
    construct_or_estimate(work, {"events": 1}, "1 event", dry_run=True, as_json=as_json)
    told = capsys.readouterr().out
    assert (
        json.loads(told)["events"] == 1 if as_json else told.startswith("1 event; 0 calls, about 0 tokens in and 0 out")
    )
    with pytest.raises(UserError, match="2 calls without an answer so far"):
        construct_or_estimate(work, {"events": 1}, "1 event", dry_run=False, as_json=as_json)
    shown = capsys.readouterr().out
    words = ('"unfinished":2',) if as_json else ("split freeze NAME --store my.duckdb", "shows that the pipeline runs")
    assert all(word in shown for word in words)
