from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import scedit
from curation.files.journal import Journal
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from tests.support import forked_programs as programs
from tests.support.construction.event_author import answer
from tests.support.construction.event_templates import data, facts, write
from tests.support.scripted_server import ScriptedServer

ENV = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-tests", "PYTHONWARNINGS": "ignore"}


def invoke(*args: object) -> str:
    done = CliRunner().invoke(scedit.cli, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)
    return done.output


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    path = tmp_path / "facts.jsonl"
    path.write_text("".join(f"{f.model_dump_json()}\n" for f in facts()), encoding="utf-8")
    return [str(write(tmp_path / "t.toml", data())), "--facts-from", str(path), "--events", "6"]


def test_events_and_questions_without_a_model(words: list[str], tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    told = invoke("data", "construct-events", *words, "--store", store, "--no-paraphrase", "--in-scope", 0,
                  "--out-of-scope", 0)  # fmt: skip
    assert [line.split()[-1] for line in told.splitlines() if "out of scope" in line] == ["12", "0"]
    assert "6 unknown, 6 background" in told and "0 calls made." in told
    assert f"Next: scedit split freeze NAME --store {store}" in told
    assert "split" in invoke("split", "freeze", "x", "--store", store, "--out", tmp_path / "x.jsonl")


def test_a_dry_run_tells_calls_and_writes_nothing(words: list[str], tmp_path: Path) -> None:
    model = ("--model", "gpt-4.1", "--base-url", "http://127.0.0.1:9/v1", "--topic", "Energy", "--topic-events", 10)
    told = invoke("data", "construct-events", *words, "--store", tmp_path / "s.duckdb", *model, "--dry-run")
    assert told.startswith("6 events of templates; 23 calls, about ") and "$" in told
    assert list(tmp_path.glob("s.duckdb*")) == []


def test_a_place_without_a_type_is_one_sentence(words: list[str], tmp_path: Path) -> None:
    write(Path(words[0]), data(text="{A} met {Z}."))
    with pytest.raises(UserError, match=r"the place \{Z\} of the template 'transfer' has no type") as error:
        invoke("data", "construct-events", *words, "--store", tmp_path / "s.duckdb")
    assert "\n" not in str(error.value)


def command(words: list[str], folder: Path, url: str) -> list[Any]:
    return [
        *(programs.CLI, "data", "construct-events", *words, "--store", str(folder / "s.duckdb"), "--json"),
        *("--model", "scripted", "--base-url", url, "--topic", "Energy", "--topic", "Law", "--topic-events", "10"),
        *("--concurrency", "4", "--attempts", "1"),
    ]


def contents(folder: Path) -> Any:
    with Store.open(folder / "s.duckdb") as store:
        records = [[(r.key, r.id) for r in store.all(c)] for c in (Event, FactQuestion, TendencyQuestion)]
        verdicts = sorted((v.key, v.id, v.label) for v in store.verdicts())
        lineage = sorted((x.item_id, x.stage, x.request or "", x.model or "") for x in store.lineages())
    return records, verdicts, lineage, {k for k, _ in Journal(folder / "s.duckdb.llm.jsonl").items() if "llm/" in k}


def slowly(payload: dict[str, Any]) -> str:
    time.sleep(0.02)
    return answer(payload)


@pytest.mark.slow
def test_killed_three_times_it_ends_with_the_same_store(words: list[str], tmp_path: Path, kills: int = 3) -> None:
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    with ScriptedServer(slowly) as server:
        done = programs.run(*command(words, tmp_path / "whole", server.url), env=ENV, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        whole, calls = json.loads(done.stdout), len(server.requests)
    rng = random.Random(3)
    with ScriptedServer(slowly) as server:
        for moment in sorted(rng.sample(range(2, int(0.8 * calls)), kills)):
            child = programs.start(*command(words, tmp_path / "parts", server.url), env=ENV)
            while len(server.requests) < moment and child.poll() is None:
                time.sleep(0.002)
            assert child.poll() is None, child.stderr[-2000:]
            child.send_signal(signal.SIGKILL)
            child.wait()
        done = programs.run(*command(words, tmp_path / "parts", server.url), env=ENV, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        assert len(server.requests) <= calls + kills * 4  # only calls in flight are repeated
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    parts = json.loads(done.stdout)
    assert parts.pop("calls") < whole.pop("calls") and parts == whole
