"""A model reads what was written, inside a construction."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter

import pytest
from click.testing import CliRunner

from construction.cli.construct import construct
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.construction import authored
from tests.support.construction.authored import many, run
from tests.support.construction.verified import readings
from tests.support.scripted_server import ScriptedServer

facts = authored.facts


def test_the_verifier_drops_what_leaks_and_another_candidate_comes(tmp_path, facts):
    def answer(payload):
        return readings(payload, bad="cook a soup") if payload["model"] == "reader" else many(payload)

    with ScriptedServer(answer) as server:
        funnel = run(facts, tmp_path / "o", server, "--questions", 2, "--candidates", 8, "--verify", "reader")
    assert funnel["kept"] == 4
    with Store.open(tmp_path / "o/s.duckdb") as store:
        counts = Counter((v.check, v.label) for v in store.verdicts() if v.model == "reader")
        stages = Counter(x.stage for x in store.lineages())
    assert counts["verify_prompt", "keep"] == 4
    assert stages["verify"] == sum(counts.values())


@pytest.mark.parametrize(
    ("options", "checks"), [((), {"verify_question", "verify_prompt", "verify_next"}), (("--no-verify",), set())]
)
def test_a_model_behind_an_endpoint_reads_what_it_wrote(tmp_path, facts, options, checks):
    def answer(payload):
        return readings(payload) if "readings" in payload["messages"][0]["content"] else many(payload)

    line = [facts, "--store", tmp_path / "s", "--model", "m", "--questions", 2, "--neighbours", 0, "--json", *options]
    with ScriptedServer(answer) as server:
        env = {"OPENAI_API_KEY": "sk-one"}
        dry, done = (
            CliRunner().invoke(construct, [*map(str, line), "--base-url", server.url, *more], env=env)
            for more in (["--dry-run"], [])
        )
    assert dry.exit_code == done.exit_code == 0, done.output
    estimate, counts = json.loads(dry.stdout), json.loads(done.stdout.splitlines()[-1])
    assert sum(stage["calls"] for stage in estimate["stages"]) == counts["calls"] == len(server.requests)
    with Store.open(tmp_path / "s") as store:
        assert {v.check for v in store.verdicts() if v.check.startswith("verify")} == checks


def test_prompts_that_the_verifier_says_nothing_of_are_in_no_split_until_it_does(tmp_path, facts):
    silent = True

    def answer(payload):
        if payload["model"] != "reader":
            return many(payload)
        return '{"readings": []}' if silent else readings(payload)

    more = ("--questions", 2, "--candidates", 4, "--verify", "reader")
    with ScriptedServer(answer) as server:
        silence = run(facts, tmp_path / "o", server, *more)
        assert silence["kept"] == 0
        assert ("verify_next", "unscored") in {(why["check"], why["label"]) for why in silence["reasons"]}
        with (
            Store.open(tmp_path / "o/s.duckdb", write=True) as store,
            pytest.raises(UserError, match="prompt: held by read: 4"),
        ):
            freeze(store, "one", SplitRule())
        silent = False
        assert run(facts, tmp_path / "o", server, *more)["kept"] == 0
        assert run(facts, tmp_path / "o", server, *more, "--retry-failed")["kept"] == 4
        with Store.open(tmp_path / "o/s.duckdb", write=True) as store:
            assert len(list(freeze(store, "two", SplitRule()).cases)) == 2


@pytest.mark.parametrize("both", [("--verify", "n", "--no-verify"), ("--add", "--replace")])
def test_options_that_exclude_each_other(tmp_path, facts, both):
    line = [facts, "--store", tmp_path / "s", "--model", "m", *both]
    result = CliRunner().invoke(construct, list(map(str, line)))
    assert result.exit_code == 2 and "exclude each other" in result.output


def test_a_replay_makes_the_same_records_and_asks_nobody(tmp_path, facts, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def answer(payload):
        return readings(payload) if "readings" in payload["messages"][0]["content"] else many(payload)

    def line(store, *more):
        return [str(w) for w in (facts, "--store", store, "--model", "m", "--neighbours", 0, "--json", *more)]

    with ScriptedServer(answer) as server:
        done = CliRunner().invoke(construct, line(tmp_path / "s", "--questions", 2, "--base-url", server.url))
    assert done.exit_code == 0, done.output
    journal = shutil.copy(tmp_path / "s.llm.jsonl", tmp_path / "copy.jsonl")
    again = CliRunner().invoke(construct, line(tmp_path / "t", "--questions", 2, "--journal", journal, "--replay"))
    assert again.exit_code == 0, again.output
    with Store.open(tmp_path / "s") as first, Store.open(tmp_path / "t") as second:
        for kind in (ScriptQuestion, ScriptPrompt, Verdict):
            assert {r.id for r in first.all(kind)} == {r.id for r in second.all(kind)} != set()
    lacking = CliRunner().invoke(construct, line(tmp_path / "u", "--questions", 3, "--journal", journal, "--replay"))
    assert "the journal lacks replies: questions: 2, scripts: 2, verify, m: " in str(lacking.exception)


def test_a_journal_without_readings_is_not_replayed_with_them(tmp_path, facts):
    line = [str(w) for w in (facts, "--store", tmp_path / "s", "--model", "m", "--neighbours", 0, "--questions", 2)]
    with ScriptedServer(many) as server:
        assert CliRunner().invoke(construct, [*line, "--no-verify", "--base-url", server.url]).exit_code == 0
    lacking = CliRunner().invoke(construct, [*line, "--replay"])
    assert re.search(
        r"lacks replies: verify, m: \d.*--no-verify where no model read the prompts", str(lacking.exception)
    )
    assert CliRunner().invoke(construct, [*line, "--no-verify", "--replay"]).exit_code == 0
