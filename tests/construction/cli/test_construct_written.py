from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click import UsageError

from construction.cli.closing import construct_or_estimate
from construction.events.funnel import EventFunnel
from construction.llm.endpoint import Access
from construction.pipeline.runner import CountedWork, WritingJob
from construction.report.funnel import Funnel
from curation.rules.rule import DocumentRule
from curation.rules.selection import SelectionStream
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.documents.document import DocumentProbe
from tests.support import forked_programs as programs
from tests.support.commands import invoke
from tests.support.construction.event_author import answer as event_answer
from tests.support.construction.event_templates import sources
from tests.support.construction.kills import killed, says_what_is_asked_again, slowly
from tests.support.construction.probe_author import answer as probe_answer
from tests.support.construction.probe_author import documents
from tests.support.scripted_server import Raw, ScriptedServer, Troubled, completion


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


def events_command(words: list[str], folder: Path, url: str) -> list[Any]:
    return [
        *(programs.CLI, "data", "construct-events", *words, "--store", str(folder / "s.duckdb"), "--json"),
        *("--model", "scripted", "--base-url", url, "--topic", "Energy", "--topic", "Law", "--events-per-topic", "10"),
        *("--concurrency", "4", "--attempts", "1"),
    ]


@pytest.mark.slow
def test_killed_three_times_it_ends_with_the_same_store(words: list[str], tmp_path: Path, kills: int = 3) -> None:
    run = killed(partial(events_command, words), tmp_path, lambda: slowly(event_answer), kills=kills)
    assert run.sent <= run.calls + kills * 4, "only calls in flight are repeated"


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


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f"{json.dumps(d)}\n" for d in documents(24)), encoding="utf-8")
    return path


def test_from_documents_to_a_split(source: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    with ScriptedServer(probe_answer) as server:
        told = invoke("data", "construct-documents", source, "--store", store, "--model", "m", "--base-url", server.url)
    assert "  documents                       24\n" in told
    assert "24 calls made." in told and f"Next: scedit split freeze NAME --store {store}" in told
    assert "24 cases" in invoke("split", "freeze", "x", "--store", store, "--out", tmp_path / "x.jsonl")
    assert "24 calls cached." in invoke("store", "funnel", "--store", store)
    assert json.loads(invoke("store", "funnel", "--store", store, "--json"))["documents"] == 24
    with pytest.raises(UserError, match="there is no page of documents"):
        invoke("store", "funnel", "--store", store, "--page", tmp_path / "p.html")


def test_a_reader_without_a_usable_reply_is_asked_again_and_its_probe_is_in_no_split(
    source: Path, tmp_path: Path
) -> None:
    silent, path = "Question: When was the Orla0 Bridge opened?", tmp_path / "s.duckdb"

    def answers(payload: dict[str, Any]) -> str:
        return "" if silent in str(payload["messages"]) else probe_answer(payload)

    with ScriptedServer(answers) as server:
        line = ("data", "construct-documents", source, "--limit", 1, "--store", path, "--base-url", server.url)
        invoke(*line, "--model", "m", "--reader", "reader")
    assert sum(silent in str(payload["messages"][:-2]) for payload in server.requests) == 4, "two attempts at each"
    with Store.open(path) as store:
        (probe,) = [p for p in store.all(DocumentProbe) if p.query in silent]
        said = [v for v in store.verdicts([probe.id]) if v.model]
        assert [v.label for v in said] == ["unsure"] * 2 and "no usable reply: unparseable" in said[0].reason
        chosen = {p.key for case in SelectionStream(store, DocumentRule()) for p in case.probes}
    assert chosen and probe.key not in chosen


def test_a_dry_run_counts_failed_calls_where_they_are_asked_again_and_damaged_lines(
    source: Path, tmp_path: Path
) -> None:
    refused = [Raw(body=completion(None, refusal="no"))]
    with ScriptedServer(lambda payload: refused.pop() if refused else probe_answer(payload)) as server:
        line = ("data", "construct-documents", source, "--store", tmp_path / "s.duckdb", "--base-url", server.url)
        line = (*line, "--model", "m", "--limit", 3, "--concurrency", 1, "--attempts", 1)
        says_what_is_asked_again(line, tmp_path / "s.duckdb.llm.jsonl", server, "3 documents")


def test_at_least_more_probes_than_at_most_is_refused(source: Path, tmp_path: Path) -> None:
    line = ("data", "construct-documents", source, "--store", tmp_path / "s.duckdb", "--min-probes", 3)
    with pytest.raises(UsageError, match="--max-probes 2 is less than --min-probes 3"):
        invoke(*line, "--max-probes", 2)


def documents_command(source: Path, folder: Path, url: str) -> list[Any]:
    return [
        *(programs.CLI, "data", "construct-documents", str(source), "--store", str(folder / "s.duckdb"), "--json"),
        *("--model", "scripted", "--base-url", url, "--concurrency", "4", "--attempts", "1"),
        *("--reader", "scripted", "--timeout", "2"),
    ]


@pytest.mark.slow
def test_killed_at_an_endpoint_that_behaves_badly(source: Path, tmp_path: Path) -> None:
    troubled = partial(Troubled, hang=3.0, write=probe_answer)  # a new one for each of the two runs
    run = killed(partial(documents_command, source), tmp_path, troubled, kills=3)
    assert any("answered" in loss["reason"] or "reply" in loss["reason"] for loss in run.printed["losses"])
