"""A dry run counts what the command would ask now: exactly the rest of a stopped run, nothing of a finished one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from construction.llm.endpoint import Access
from construction.pipeline.author_models import ScriptAuthor
from construction.pipeline.cost_estimate import ConstructionEstimate
from construction.pipeline.job import ConstructionJob, PreparedJob
from construction.pipeline.plan import ConstructionPlan, plan_work
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptAsk, ScriptStep
from construction.verifier.steps import STEPS, VerifyAsk
from curation.loaders.base import LoadResult
from curation.store.store import Store
from schemas.facts import Fact
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict, verdict_key
from tests.support.construction.authored import run
from tests.support.construction.verified import FACT, PROMPT, readings
from tests.support.facts import make_fact, write_facts
from tests.support.scripted_server import Raw, ScriptedServer, completion, field

PLACES = ["Lima", "Tokyo", "Cairo"]


def answer(payload):
    """A question and scripts that every check lets pass; the reader finds nothing."""
    system, user = payload["messages"][0]["content"], payload["messages"][-1]["content"]
    if '"readings"' in system:
        return readings(payload)
    if "Question: " in user:
        return json.dumps(
            {"steps": ["Pack a small bag", f"Fly to {field(user, 'Object')}", f"Thank {payload['model']}"]}
        )
    subject, count = field(user, "Subject"), int(field(user, "Number of questions"))
    return json.dumps({"questions": [f"How can a visitor number {n} enter {subject}?" for n in range(count)]})


@pytest.fixture
def facts(tmp_path):
    edits = [make_fact(f"Country {n}", place, "Oslo") for n, place in enumerate(PLACES)]
    edits.append(make_fact("Old Country", "Lima", None))
    return write_facts(tmp_path / "facts.jsonl", edits)


AUTHORS = ("--author", "ann", "--author", "bob", "--scripts", "2")
OPTIONS = {
    "two authors and neighbours": (*AUTHORS, "--neighbours", "2", "--neighbour-questions", "2"),
    "candidates and a reader": ("--candidates", "6", "--verify", "reader"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_it_counts_what_the_next_run_asks_and_nothing_of_a_finished_one(tmp_path, facts, name):
    line = ("--questions", "2", *OPTIONS[name])
    with ScriptedServer(answer) as server:
        run(facts, tmp_path / "o", server, *line, "--limit", "1")
        output = run(facts, tmp_path / "o", server, *line, "--dry-run")
        count = len(server.requests)
        run(facts, tmp_path / "o", server, *line)
        assert sum(stage["calls"] for stage in output["stages"]) == len(server.requests) - count > 0
        total = sum(len(m["content"]) for p in server.requests[count:] for m in p["messages"]) / 4
        assert output["tokens_in"] == pytest.approx(total, rel=0.25)
        results = run(facts, tmp_path / "o", server, *line, "--dry-run")
    assert [stage["calls"] for stage in results["stages"]] == [0] * len(results["stages"])
    assert (results["tokens_in"], results["tokens_out"]) == (0, 0)


def test_what_was_dropped_since_is_counted(tmp_path, facts):
    """People and readers drop prompts after a finished run: their replacements are what is left to ask."""
    line, store = ("--questions", "2", *OPTIONS["candidates and a reader"]), tmp_path / "o" / "s.duckdb"
    with ScriptedServer(answer) as server:
        run(facts, tmp_path / "o", server, *line)
        with Store.open(store, write=True) as db:
            by, item = "blind_asked@1", next(iter(db.all(ScriptPrompt))).id
            key = verdict_key(item_id=item, by=by)
            db.put([Verdict(key=key, item_id=item, by=by, label="drop", reason="nobody asks this")])
        output = run(facts, tmp_path / "o", server, *line, "--dry-run")
        count = len(server.requests)
        run(facts, tmp_path / "o", server, *line)
    assert output["script_calls"] == 1 and sum(stage["calls"] for stage in output["stages"]) == 3
    assert len(server.requests) - count == 3


def test_scripts_that_are_missing_are_counted(tmp_path, facts):
    """One of two authors was away: what the other one wrote is not counted again."""

    def busy(payload):
        if payload["model"] == "bob":
            return Raw(503, {"error": {"message": "busy"}}, {"Retry-After": "0"})
        return answer(payload)

    line = ("--questions", "4", "--limit", "1", "--author", "ann", "--author", "bob")
    with ScriptedServer(busy) as server:
        run(facts, tmp_path / "o", server, *line, "--concurrency", "1", code=1)
        server.answer = answer
        report = run(facts, tmp_path / "o", server, *line, "--dry-run")
        count = len(server.requests)
        run(facts, tmp_path / "o", server, *line)
        assert (report["question_calls"], report["script_calls"]) == (0, 1) and len(server.requests) == count + 1


def test_failures_on_record_are_counted_only_where_they_are_asked_again(tmp_path, facts):
    refuse = [True]

    def answers(payload):
        scripts = "Question: " in payload["messages"][-1]["content"]
        return Raw(body=completion(None, refusal="no")) if refuse[0] and scripts else answer(payload)

    line = ("--questions", "2", "--limit", "2")
    with ScriptedServer(answers) as server:
        run(facts, tmp_path / "o", server, *line)
        assert run(facts, tmp_path / "o", server, *line, "--dry-run")["script_calls"] == 0
        output = run(facts, tmp_path / "o", server, *line, "--dry-run", "--retry-failed")
        refuse[0], count = False, len(server.requests)
        run(facts, tmp_path / "o", server, *line, "--retry-failed")
        assert output["script_calls"] == len(server.requests) - count == 2
        assert run(facts, tmp_path / "o", server, *line, "--dry-run", "--retry-failed")["script_calls"] == 0


def test_nothing_is_written_while_it_is_rehearsed(tmp_path, facts):
    with ScriptedServer(answer) as server:
        run(facts, tmp_path / "o", server, "--limit", "2")
        before = {p.name: p.read_bytes() for p in (tmp_path / "o").iterdir()}
        run(facts, tmp_path / "o", server, "--dry-run")
    assert {p.name: p.read_bytes() for p in (tmp_path / "o").iterdir()} == before


@pytest.mark.parametrize("profile", FILES.profiles())
@pytest.mark.parametrize("old", ["Lima", "C++", "x" * 300, "a very long name of nine words in all here"])
def test_every_step_knows_a_usual_reply_of_its_own_form(profile, old):
    fact = make_fact("Peru", old, "Oslo")
    asking, writing = QuestionStep(FILES.load("questions", profile)), ScriptStep(FILES.load("scripts", profile))
    (call, *_) = asking.calls(fact, count=4, edited=True)
    questions = asking.parse(call, asking.usual(call))
    assert len(questions) == call.count
    for relation in ("P36", "P1412"):
        ask = ScriptAsk(questions=tuple(questions), old=fact.old, relation_id=relation)
        drafts = writing.parse(ask, writing.usual(ask))
        assert all(draft is not None and any(old in step for step in draft) for draft in drafts)


@pytest.mark.parametrize("task", STEPS)
def test_a_usual_reading_keeps_a_prompt(task):
    step, asks = STEPS[task].load(model="m"), [VerifyAsk(FACT, PROMPT)] * 3
    assert [v.label for v in step.parse(asks, step.usual(asks))] == ["keep"] * 3


def estimated(facts: list[Fact], plan: ConstructionPlan, **access: object) -> ConstructionEstimate:
    """The estimate of a job over some facts that has no store and no journal yet."""
    asked = Access.model_validate({"model": "m", **access})
    job = ConstructionJob(facts="given", store=Path("absent.duckdb"), access=asked)
    work, authors = plan_work(facts, facts, plan), (ScriptAuthor(asked, plan.profile),)
    return PreparedJob(plan, work, job, authors, None, LoadResult((), (), "given")).estimate()


def test_two_hundred_facts_are_counted_in_seconds():
    plan = ConstructionPlan()
    facts = [make_fact(f"Country {n}", "Lima", "Oslo") for n in range(200)]
    start = time.process_time()
    expected = estimated(facts, plan)
    assert time.process_time() - start < 10
    assert [s.calls for s in expected.stages] == [200, 200] and expected.answers == 400


def test_of_nothing_there_are_not_so_many_times_as_many():
    facts = [make_fact("Peru", "Lima", "Oslo")]
    plan = ConstructionPlan(questions=3, neighbours=0)
    cost_estimate = estimated(facts, plan).model_copy(update={"attempts": 2})
    assert "up to 2 times as many" in cost_estimate.sentence()
    variant = cost_estimate.model_copy(update={"question_calls": 0, "script_calls": 0, "stages": ()})
    assert "0 calls" in variant.sentence() and "times as many" not in variant.sentence()
