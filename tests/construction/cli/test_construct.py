"""The command from end to end, through a scripted endpoint."""

from __future__ import annotations

import json

import pytest

from construction.prompts.prompt_file import FILES
from curation.store.store import Store
from schemas.facts import Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support import forked_programs as programs
from tests.support.construction.kills import ENV
from tests.support.facts import make_fact, write_facts
from tests.support.scripted_server import ScriptedServer, author

KEY = ENV["OPENAI_API_KEY"]


def command(facts, folder, url, *more):
    return [
        *(programs.CLI, "construct", str(facts), "--store", str(folder / "s.duckdb")),
        *("--model", "scripted", "--base-url", url, "--no-verify", *map(str, more)),
    ]


def construct(facts, folder, url, *more):
    folder.mkdir(exist_ok=True)
    return programs.run(*command(facts, folder, url, *more), env=ENV, timeout=300)


@pytest.fixture
def facts(tmp_path):
    """Four facts: three share an old object."""
    edits = [
        make_fact("Peru", "Lima", "Oslo"),
        make_fact("Lima Province", "Lima", "Rome"),
        make_fact("Old Peru", "Lima", "Oslo"),
        make_fact("Japan", "Tokyo", "Rome"),
    ]
    return write_facts(tmp_path / "facts.jsonl", edits)


def test_store_holds_records_verdicts_and_lineage(tmp_path, facts):
    with ScriptedServer(author) as server:
        more = ("--neighbours", 2, "--neighbour-questions", 4, "--limit", 1, "--candidates", 4)
        result = construct(facts, tmp_path / "o", server.url, *more)
    assert result.returncode == 0, result.stderr
    assert "kept" in result.stdout and "8.23" in result.stdout and "6.75" in result.stdout
    with Store.open(tmp_path / "o/s.duckdb") as store:
        questions = list(store.all(ScriptQuestion))
        assert len([q for q in questions if q.fact == "f/Peru"]) == 4
        links = {x.fact: x for x in store.all(Neighbour)}
        assert set(links) == {"f/Lima-Province", "f/Old-Peru"}
        assert {q.fact for q in questions} == {"f/Peru", *links}
        for script in store.all(Script):
            lines = store.lineage(script.id)
            assert 1 <= len(lines) <= 2, "a second attempt may write the same steps"
            for line in lines:
                assert (line.model, line.prompt, line.stage) == ("scripted", "scripts_paper@6", "scripts")
                assert line.endpoint == server.url and line.request.startswith("llm/") and line.tokens_out == 7
        labels = {(v.check, v.label) for v in store.verdicts()}
        assert {("question_form", "keep"), ("reply_usable", "keep")} <= labels
        verdicts = [v for v in store.verdicts([links["f/Old-Peru"].id]) if v.label == "unsure"]
        assert verdicts and "edited subject ('Peru') is part of the neighbour's name" in verdicts[0].reason
        for prompt in store.all(ScriptPrompt):
            assert prompt.key == f"{prompt.script}/p" and prompt.script.startswith(f"{prompt.question}/s-")
    for path in (tmp_path / "o").iterdir():
        assert KEY.encode() not in path.read_bytes()
    assert KEY not in result.stdout + result.stderr


def test_script_writer_never_sees_the_new_object(tmp_path, facts):
    with ScriptedServer(author) as server:
        assert construct(facts, tmp_path / "o", server.url).returncode == 0
    scripts = [p for p in server.requests if "steps" in json.dumps(p["response_format"])]
    assert len(scripts) >= 4
    examples = 1 + 2 * len(FILES.load("scripts", "paper").examples)
    for payload in scripts:
        text = str([payload["messages"][0], *payload["messages"][examples:]])
        assert "Rome" not in text and "Oslo" not in text
    questions = [p for p in server.requests if p not in scripts]
    assert any("Object after the change: Rome" in p["messages"][-1]["content"] for p in questions)


ERRORS = {
    "unreachable": ("http://127.0.0.1:9/v1", "no connection"),
    "no address": ("localhost:8000", "is not an address"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_endpoint_is_one_sentence(tmp_path, facts, name):
    url, words = ERRORS[name]
    result = construct(facts, tmp_path / "o", url)
    assert result.returncode != 0 and "Traceback" not in result.stderr
    assert all(text in result.stderr for text in (words, url, "--base-url"))
    assert result.stderr.count("Error: ") == 1 and result.stderr.strip().splitlines()[-1].startswith("Error: ")
