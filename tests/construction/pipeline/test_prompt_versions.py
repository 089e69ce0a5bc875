"""Prompts version 2 by default, version 1 where a journal was begun with it; over-generation and second scripts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from construction.llm.connection import Access
from construction.llm.reply_cache import ReplyCache, StoredOutcome, request_key
from construction.pipeline.job import ConstructionJob, prepare
from construction.pipeline.prompt_versions import begun_with, note_small_profiles, small_profiles
from construction.prompts.prompt_file import is_shipped, load_prompt
from construction.scripts.question_step import QuestionStep
from curation.files.journal import Journal
from curation.files.local_models import LOCAL_FILE
from curation.store.store import Store
from schemas.scripts import Script, ScriptQuestion
from tests.support.construction import authored
from tests.support.construction.authored import many, run
from tests.support.facts import make_fact
from tests.support.scripted_server import ScriptedServer, asked, field

facts = authored.facts
FACTS = [make_fact(), make_fact("Japan", "Tokyo", "Rome")]


def labels(folder: Path, kind: type[ScriptQuestion] | type[Script]) -> Counter[str | None]:
    """Prompt labels in the lineage of what a store holds."""
    with Store.open(folder / "s.duckdb") as store:
        return Counter(line.prompt for item in store.all(kind) for line in store.lineage(item.id))


def test_without_options_version_2_asks_for_twice_as_many(tmp_path: Path, facts: Path) -> None:
    with ScriptedServer(many) as server:
        result = run(facts, tmp_path / "o", server)
        numbers = {field(asked(p), "Number of questions") for p in server.requests} - {""}
        limits = {p["max_tokens"] for p in server.requests}
    assert numbers == {"10"} and limits == {400, 350}
    assert set(labels(tmp_path / "o", ScriptQuestion)) == {"questions_paper@2"}
    # the reply holds 8, of which one leaks and one has no script to cut: five are kept all the same
    assert result["kept"] == 10 and result["surplus"] > 0


def test_version_1_stays_selectable_with_its_own_numbers(tmp_path: Path, facts: Path) -> None:
    with ScriptedServer(many) as server:
        run(facts, tmp_path / "o", server, "--profile", "paper@1")
        numbers = {field(asked(p), "Number of questions") for p in server.requests} - {""}
        assert numbers == {"4"} and not any("max_tokens" in p for p in server.requests)
        assert all("Relation: " not in asked(p) for p in server.requests)
    assert set(labels(tmp_path / "o", ScriptQuestion)) == {"questions_paper@1"}
    with Store.open(tmp_path / "o/s.duckdb") as store:
        lines = [line for s in store.all(Script) for line in store.lineage(s.id)]
    assert {line.prompt for line in lines} == {"scripts_paper@1"}
    assert not any("wording" in line.detail for line in lines), "an earlier version of ours is no foreign wording"


def test_a_journal_of_version_1_goes_on_under_version_1(tmp_path: Path, facts: Path) -> None:
    with ScriptedServer(many) as server:
        run(facts, tmp_path / "o", server, "--profile", "paper@1", "--limit", 1)
        before = len(server.requests)
        output = run(facts, tmp_path / "o", server)
        later = server.requests[before:]
    assert later and all("Japan" in json.dumps(p["messages"]) for p in later), "nothing of Peru is paid for again"
    assert set(labels(tmp_path / "o", ScriptQuestion)) == {"questions_paper@1"} and output["facts"] == 2


def test_a_named_profile_is_taken_at_its_word(tmp_path: Path, facts: Path) -> None:
    with ScriptedServer(many) as server:
        run(facts, tmp_path / "o", server, "--profile", "paper@1")
        run(facts, tmp_path / "o", server, "--profile", "paper", "--add")
        before = len(server.requests)
        run(facts, tmp_path / "o", server)
        assert len(server.requests) == before, "version 2 is on record now, so it is gone on with"
    label_counts = labels(tmp_path / "o", ScriptQuestion)
    assert label_counts["questions_paper@1"] and label_counts["questions_paper@2"]


def _journal(path: Path, profile: str, count: int, *, model: str = "m") -> Path:
    step = QuestionStep(load_prompt("questions", profile))
    call = step.calls(FACTS[1], count=count, edited=True)[0]
    key = request_key(model, step.sample(call, FACTS[1].key, "0", attempt=0))
    with Journal(path, write=True) as lines:
        ReplyCache(lines).put(key, StoredOutcome(kind="reply", raw="{}", at="2026-11-21T00:00:00+00:00"))
    return path


@pytest.mark.parametrize(
    ("profile", "count", "version"),
    [("paper@1", 4, "paper@1"), ("paper", 8, None), ("paper@1", 5, None), ("embedded", 1, None)],
)
def test_the_version_is_found_by_what_was_asked(tmp_path: Path, profile: str, count: int, version: str | None) -> None:
    journal = _journal(tmp_path / "j.jsonl", profile, count)
    job = ConstructionJob(facts="f", store=tmp_path / "s", access=Access(model="m"))
    with Journal(journal) as lines:
        cache = ReplyCache(lines)
        assert begun_with(cache, job.plan_with, "paper", FACTS, model="m") == version
        assert begun_with(cache, job.plan_with, "paper", FACTS, model="another") is None
    assert begun_with(None, job.plan_with, "paper", FACTS, model="m") is None


def test_a_journal_of_the_embedded_model_goes_on_with_its_first_prompts(tmp_path: Path, facts: Path) -> None:
    journal = _journal(tmp_path / "s.llm.jsonl", "embedded@1", 4, model=Access().label)
    statements: list[str] = []
    preparation = prepare(
        ConstructionJob(facts=str(facts), store=tmp_path / "s", access=Access()), on_progress=statements.append
    )
    new = prepare(
        ConstructionJob(facts=str(facts), store=tmp_path / "new", access=Access()), on_progress=statements.append
    )
    plan = prepare(
        ConstructionJob(facts=str(facts), store=tmp_path / "s", access=Access(), profile="embedded"),
        on_progress=statements.append,
    )
    assert preparation and new and plan and journal.exists()
    assert [p.plan.profile for p in (preparation, new, plan)] == ["embedded@1", "embedded", "embedded"]
    assert [p.plan.wording().scripts.shape for p in (preparation, new)] == ["slots", "object_last"]
    assert len(statements) == 1 and "embedded@1" in statements[0]


def test_a_journal_of_the_local_profile_goes_on_with_its_first_prompts(tmp_path: Path, facts: Path) -> None:
    _journal(tmp_path / "s.llm.jsonl", "local@1", 4)
    access, statements = Access(model="m", base_url="http://127.0.0.1:9/v1"), list[str]()
    job = ConstructionJob(facts=str(facts), store=tmp_path / "s", access=access)
    with Journal(tmp_path / "s.llm.jsonl") as lines:
        assert begun_with(ReplyCache(lines), job.plan_with, "local", FACTS, model="m") == "local@1"
    earlier, present = (load_prompt("scripts", profile) for profile in ("local@1", "local"))
    assert (earlier.attempts, present.attempts) == (4, 8) and is_shipped(earlier) and is_shipped(present)
    new = prepare(ConstructionJob(facts=str(facts), store=tmp_path / "n", access=access, profile="local"),
                  on_progress=statements.append)  # fmt: skip
    assert new is not None and new.plan.wording().scripts == present and not statements


def test_no_example_of_the_local_profile_has_a_long_step() -> None:
    """The model writes as long as it is shown: steps of six words in the examples made it overrun seven."""
    for example in load_prompt("scripts", "local").examples:
        reply = json.loads(example.assistant)
        word = field(example.user, "Word")
        steps = [*reply["before"], reply["key_step"].removesuffix(word), *reply["after"]]
        assert all(len(step.split()) <= 5 for step in steps) and reply["key_step"].endswith(word)


@pytest.mark.parametrize(
    ("replies", "notes", "profile"),
    [
        ((), None, "embedded"),
        (("{}",), None, "embedded@1"),
        (('{"same": "no"}',), None, "embedded"),
        (("{}",), 2, "embedded"),
    ],
)
def test_the_embedded_author_of_an_earlier_journal_keeps_its_prompts(
    tmp_path: Path, replies: tuple[str, ...], notes: int | None, profile: str
) -> None:
    with Journal(tmp_path / "j", write=True) as lines:
        cache = ReplyCache(lines)
        if notes is not None:
            note_small_profiles(cache)
        for n, raw in enumerate(replies):
            cache.put(f"llm/{n}", StoredOutcome(kind="reply", raw=raw, at="2026-11-21T00:00:00+00:00"))
        note_small_profiles(cache)
        assert small_profiles(cache)["embedded"] == profile
        assert [v for _, v in cache.notes("prompts/embedded")] == ([] if profile == "embedded@1" else [2])
    assert small_profiles(None) == {"embedded": "embedded", "local": "local"}


@pytest.mark.parametrize(
    ("requests", "notes", "profile"),
    [(None, None, "local"), (f"/models/{LOCAL_FILE}", None, "local@1"), (f"/models/{LOCAL_FILE}", 2, "local"),
     ("gpt-4o", None, "local")],
)  # fmt: skip
def test_the_local_author_of_an_earlier_journal_keeps_its_prompts(
    tmp_path: Path, requests: str | None, notes: int | None, profile: str
) -> None:
    """Its version is followed from the first reply on: the journal of another model is no journal of its first one."""
    reply = StoredOutcome(kind="reply", raw='{"steps": []}', at="2026-11-21T00:00:00+00:00")
    with Journal(tmp_path / "j", write=True) as lines:
        cache = ReplyCache(lines)
        if notes is not None:
            cache.note("prompts/local", notes)
        if requests is not None:
            cache.put("llm/1", reply.model_copy(update={"served": requests}))
        note_small_profiles(cache)
        assert small_profiles(cache)["local"] == profile
        cache.put("llm/2", reply.model_copy(update={"served": f"/elsewhere/{LOCAL_FILE}"}))
        assert small_profiles(cache)["local"] == profile, "what it writes now does not change it"


@pytest.mark.parametrize(
    ("model", "profile", "authors"),
    [
        ("local", "local@1", ["local@1"]),
        ("local", None, ["local"]),
        ("m", None, ["local@1"]),
        ("m", "paper@1", ["local@1"]),
    ],
)
def test_an_author_local_beside_the_journal_of_its_first_prompts(
    tmp_path: Path,
    facts: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    profile: str | None,
    authors: list[str],
) -> None:
    """Whether the model's file is here does not matter: nothing is asked of it."""
    monkeypatch.setattr("construction.llm.connection.gguf_of", Path)
    reply = StoredOutcome(kind="reply", raw='{"steps": []}', served=f"/m/{LOCAL_FILE}", at="2026-11-21T00:00:00+00:00")
    with Journal(tmp_path / "s.llm.jsonl", write=True) as lines:
        ReplyCache(lines).put("llm/1", reply)
    access = Access(model=model) if model == "local" else Access(model=model, base_url="http://127.0.0.1:9/v1")
    job = ConstructionJob(facts=str(facts), store=tmp_path / "s", access=access, profile=profile, named=("local",))
    ready = prepare(job, on_progress=print)
    assert ready is not None and [a.profile for a in ready.session.authors] == authors


@pytest.mark.parametrize(
    ("profile", "questions", "candidates", "limit", "asked_for"),
    [
        ("paper", None, None, 5, 10),
        ("paper", None, 12, 5, 12),
        ("paper", None, 4, 4, 4),
        ("paper", 4, None, 4, 8),
        ("paper", 1, None, 1, 2),
        ("paper", 4, 4, 4, 4),
        ("paper@1", None, None, 4, None),
        ("paper@1", None, 6, 4, 6),
        ("paper@1", 5, None, 5, None),
        ("embedded", None, None, 4, None),
        ("local", None, None, 4, None),
    ],
)
def test_how_many_questions_and_candidates(
    tmp_path: Path, profile: str, questions: int | None, candidates: int | None, limit: int, asked_for: int | None
) -> None:
    """Five of a capable model: a case can reach the paper's 4.01 prompts. What was begun with four keeps them."""
    job = ConstructionJob(
        facts="f", store=tmp_path / "s", access=Access(model="m"), questions=questions, candidates=candidates
    )
    plan = job.plan_with(profile)
    assert (plan.questions, plan.candidates) == (limit, asked_for)


def test_the_dry_run_counts_the_spare_candidates(tmp_path: Path, facts: Path) -> None:
    with ScriptedServer(many) as server:
        two = run(facts, tmp_path / "a", server, "--dry-run")
        four = run(facts, tmp_path / "b", server, "--dry-run", "--candidates", 4)
    tokens_outs = [e["stages"][0]["tokens_out"] for e in (two, four)]
    assert tokens_outs[0] * 4 == 10 * tokens_outs[1] and two["question_calls"] == four["question_calls"] == 2
    assert two["attempts"] == 2, "a second script may be asked for"


def _second(first: list[str], then: list[str]) -> Callable[[dict[str, Any]], str]:
    """An author whose first script of every question is ``first``, and whose second is ``then``."""

    def answer(payload: dict[str, Any]) -> str:
        prompt = payload["messages"][-1]["content"]
        if "Question: " in asked(payload):
            return json.dumps({"why": "as told", "steps": then if prompt.startswith("That script") else first})
        return many(payload)

    return answer


def test_a_rejected_script_is_written_once_more_and_the_reason_is_told(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(make_fact().model_dump_json() + "\n")
    with ScriptedServer(_second(["Fly over Oslo", "Fly to Lima"], ["Pack a bag", "Fly to Lima"])) as server:
        result = run(path, tmp_path / "o", server, "--questions", 2)
        retries = [p["messages"] for p in server.requests if p["messages"][-1]["content"].startswith("That script")]
        scripts = [p for p in server.requests if "Question: " in asked(p)]
        calls = len(server.requests)
        rerun = run(path, tmp_path / "o", server, "--questions", 2)
        assert len(server.requests) == calls and rerun["calls"] == 0
    assert len(retries) == 2 and len(scripts) == 4 and result["kept"] == 2
    assert all(
        "'Oslo'" in m[-1]["content"] and json.loads(m[-2]["content"])["steps"][0] == "Fly over Oslo" for m in retries
    )
    assert not any("new object" in json.dumps(p["messages"]) for p in scripts)


def test_the_reason_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(make_fact().model_dump_json() + "\n")
    with ScriptedServer(_second(["Stay", "Rest"], ["Sit", "Rest"])) as server:
        result = run(path, tmp_path / "o", server, "--questions", 1, "--candidates", 1)
        scripts = [p for p in server.requests if "Question: " in asked(p)]
    assert len(scripts) == 2 and result["kept"] == 0


def test_every_shipped_version_is_ours() -> None:
    for task in ("questions", "scripts"):
        assert all(is_shipped(load_prompt(task, profile)) for profile in ("paper", "paper@1", "embedded"))
        assert not is_shipped(load_prompt(task, "paper").model_copy(update={"candidates": 9, "again": None}))
