"""Constructing and freezing from Python: the same store as the commands make, kept replies, refusals, notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit
from curation.store.store import Store
from scedit.commands import cli
from scedit.facts import python_errors
from schemas.core.errors import UserError
from tests.support.construction.verified import readings
from tests.support.scripted_server import ScriptedServer, author

CAPITALS = {"Peru": "Lima", "Chad": "N'Djamena", "Italy": "Rome"}
ROWS = [
    {"subject": s, "relation": "capital", "prompt": "The capital of {} is", "old": old, "new": "Oslo"}
    for s, old in CAPITALS.items()
]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """An endpoint that writes and reads; the folder is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEY", "none")

    def answer(payload: dict) -> object:
        reads = '"readings"' in payload["messages"][0]["content"]
        return readings(payload, known=CAPITALS) if reads else author(payload)

    with ScriptedServer(answer) as running:
        yield running


def name(server: ScriptedServer) -> str:
    return f"scripted@{server.url}@KEY"


def test_a_table_becomes_a_split_and_nothing_is_asked_twice(server: ScriptedServer) -> None:
    facts = scedit.read(ROWS)
    planned = scedit.estimate(facts, name(server), questions=2)
    assert planned.question_calls == 3 and not server.requests and not list(Path().iterdir())
    build = scedit.construct(facts, name(server), questions=2, progress=False)
    assert (
        build.store == Path("facts.duckdb")
        and build.funnel.stage("questions").kept >= 5
        and server.keys[0] == "Bearer none"
    )
    asked = len(server.requests)
    again = scedit.construct(ROWS, name(server), questions=2, progress=False)  # the same table, read anew
    assert len(server.requests) == asked and again.funnel == build.funnel
    split = build.freeze("mine", out="mine.jsonl")
    assert len(split.cases) == 3 and scedit.load_split("mine.jsonl").digest == split.digest
    assert list(build.reasons().columns) == ["count", "kind", "check", "label", "key", "reason", "example"]


def test_the_command_makes_the_same_split(server: ScriptedServer) -> None:
    scedit.read(ROWS).frame().dropna(axis=1, how="all")[list(ROWS[0])].to_csv("facts.csv", index=False)
    words = ["construct", "facts.csv", "--store", "c.duckdb", "--model", "scripted", "--base-url", server.url]
    assert CliRunner().invoke(cli, [*words, "--api-key-env", "KEY", "--questions", "2"]).exit_code == 0
    assert CliRunner().invoke(cli, ["split", "freeze", "mine", "--store", "c.duckdb"]).exit_code == 0
    split = scedit.construct(ROWS, name(server), questions=2, store="p.duckdb", progress=False).freeze("mine")
    with Store.open(Path("c.duckdb")) as store:
        assert store.open_split("mine").digest == split.digest


def test_a_notebook_runs_a_loop_already(server: ScriptedServer) -> None:
    async def cell() -> scedit.Build:
        assert scedit.estimate(ROWS, name(server), questions=2).facts == 3
        return scedit.construct(ROWS, name(server), questions=2, progress=False)

    assert asyncio.run(cell()).funnel.stage("questions").kept >= 5


def test_a_rule_is_set_by_name(server: ScriptedServer) -> None:
    build = scedit.construct(ROWS, name(server), questions=2, verify=False, progress=False)
    with pytest.raises(UserError, match="did you mean 'unsure'"):
        build.freeze("mine", unsur="keep")
    assert build.freeze("mine", unsure="keep").header["rule"]["unsure"] == "keep"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"question": 2}, "did you mean 'questions'"),
        ({"model": "gpt-4o"}, "unknown option 'model'; allowed: attempts, author, "),
        ({"reader_name": "gpt-4o"}, "unknown option 'reader_name'.* verify"),  # the job's own name of an argument
        ({"questions": "two"}, "questions: Input should be a number"),
        ({"author": "x@http"}, "names no model"),
        ({"max_cost": 1.0}, "needs the price"),
        ({"author": "gguf:absent.gguf"}, "absent.gguf"),
        ({"facts": [row | {"new": None} for row in ROWS]}, "nothing to edit"),
        ({"facts": [*ROWS, ROWS[0] | {"subject": "Mali", "relation": ""}]}, "relation"),
        ({"author": ["gpt-4o"]}, "a list names no author"),
        ({"author": None}, "a NoneType names no author"),
        ({"verify": 3}, "verify: a int names no reader"),
        ({"limit": -1}, "limit: Input should be greater than 0"),
        ({"limit": 0}, "limit: Input should be greater than 0"),
        ({"questions": -2}, "questions: Input should be greater than 0"),
        ({"neighbours": -1}, "neighbours: Input should be greater than or equal to 0"),
        ({"max_cost": -5.0}, "max_cost: Input should be greater than or equal to 0"),
        ({"rpm": -3}, "rpm: Input should be greater than 0"),  # a pace that no call would wait out
        ({"tries": 0}, "tries: Input should be greater than 0"),
        ({"concurrency": 1000}, "concurrency: Input should be less than or equal to 512"),
    ],
)
def test_what_cannot_be_constructed_is_refused_before_a_store_is_made(
    server: ScriptedServer, options: dict, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        scedit.construct(**{"facts": ROWS, "author": name(server), "progress": False} | options)
    assert not server.requests and not list(Path().iterdir())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("minni", "did you mean 'mini'"),
        ("open:tests", "'open:test'"),
        (None, "a NoneType names no split"),
        ("x.jsonl", "x.jsonl"),
    ],
)
def test_a_split_that_does_not_exist(name: object, words: str) -> None:
    with pytest.raises(UserError, match=words):
        scedit.load_split(name)


def test_a_split_is_shown_in_one_line() -> None:
    assert repr(scedit.load_split("mini")).startswith("Split(mini@1.1.0, 44 cases, digest ")


def test_a_row_that_cannot_be_read_is_named_by_its_number(server: ScriptedServer) -> None:
    rows = [*ROWS, ROWS[0] | {"subject": "Mali", "prompt": "The capital"}]
    with pytest.raises(UserError, match="the table of facts, row 3: .*; all: facts.problems"):
        scedit.construct(rows, name(server), progress=False)
    build = scedit.construct(rows, name(server), questions=1, skip_bad=True, progress=False)
    assert build.funnel.stage("edited facts").total == 3


def test_changed_facts_need_a_store_of_their_own(server: ScriptedServer) -> None:
    scedit.construct(ROWS, name(server), questions=1, progress=False)
    changed = [ROWS[0] | {"new": "Madrid"}, *ROWS[1:]]
    with pytest.raises(UserError, match="name another store: construct"):
        scedit.construct(changed, name(server), questions=1, progress=False)
    build = scedit.construct(changed, name(server), questions=1, store="other.duckdb", progress=False)
    assert scedit.Build("other.duckdb").funnel == build.funnel


def test_errors_name_arguments_and_no_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UserError, match="name another with key_name, or use author embedded") as error:
        scedit.construct(ROWS, "gpt-4o", progress=False)
    assert "--" not in f"{error.value}{error.value.fix}"
    with pytest.raises(UserError, match="max_cost needs the price"):
        scedit.estimate(ROWS, "x@http://127.0.0.1:9/v1", max_cost=1.0)


@python_errors
def fail(what: str) -> None:
    raise UserError(what)


def test_two_hyphens_within_a_name_are_no_option() -> None:
    with pytest.raises(UserError) as error:
        fail("hub/models--gpt2--v/my--facts.csv and --max-cost, '--facts-from'")
    assert str(error.value) == "hub/models--gpt2--v/my--facts.csv and max_cost, 'facts_from'"
