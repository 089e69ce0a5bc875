from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click import UsageError

from curation.rules.rule import DocumentRule
from curation.rules.selection import SelectionStream
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.documents.document import DocumentProbe
from tests.support import forked_programs as programs
from tests.support.commands import invoke
from tests.support.construction.kills import killed, says_what_is_asked_again
from tests.support.construction.probe_author import answer, documents
from tests.support.construction.stored import contents, replies
from tests.support.scripted_server import Raw, ScriptedServer, Troubled, completion


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f"{json.dumps(d)}\n" for d in documents(24)), encoding="utf-8")
    return path


def test_from_documents_to_a_split(source: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    with ScriptedServer(answer) as server:
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
        return "" if silent in str(payload["messages"]) else answer(payload)

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
    with ScriptedServer(lambda payload: refused.pop() if refused else answer(payload)) as server:
        line = ("data", "construct-documents", source, "--store", tmp_path / "s.duckdb", "--base-url", server.url)
        line = (*line, "--model", "m", "--limit", 3, "--concurrency", 1, "--attempts", 1)
        says_what_is_asked_again(line, tmp_path / "s.duckdb.llm.jsonl", server, "3 documents")


def test_at_least_more_probes_than_at_most_is_refused(source: Path, tmp_path: Path) -> None:
    line = ("data", "construct-documents", source, "--store", tmp_path / "s.duckdb", "--min-probes", 3)
    with pytest.raises(UsageError, match="--max-probes 2 is less than --min-probes 3"):
        invoke(*line, "--max-probes", 2)


def command(source: Path, folder: Path, url: str) -> list[Any]:
    return [
        *(programs.CLI, "data", "construct-documents", str(source), "--store", str(folder / "s.duckdb"), "--json"),
        *("--model", "scripted", "--base-url", url, "--concurrency", "4", "--attempts", "1"),
        *("--reader", "scripted", "--timeout", "2"),
    ]


@pytest.mark.slow
def test_killed_at_an_endpoint_that_behaves_badly(source: Path, tmp_path: Path) -> None:
    troubled = partial(Troubled, hang=3.0, write=answer)  # a new one for each of the two runs
    run = killed(partial(command, source), tmp_path, troubled, kills=3)
    parts, whole = tmp_path / "parts/s.duckdb", tmp_path / "whole/s.duckdb"
    assert contents(parts) == contents(whole) and replies(parts) == replies(whole)
    run.whole.pop("calls"), run.parts.pop("calls")
    assert run.parts == run.whole
    assert any("answered" in loss["reason"] or "reply" in loss["reason"] for loss in run.whole["losses"])
