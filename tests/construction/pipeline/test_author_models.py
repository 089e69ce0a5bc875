"""Candidates, several scripts, several authors, a reader, nearest neighbours: the command, an endpoint."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from construction.llm.endpoint import Access
from construction.pipeline.author_models import ScriptAuthor, script_authors, verifier
from construction.pipeline.cost_estimate import ConstructionEstimate
from construction.pipeline.job import ConstructionJob, PreparedJob
from construction.pipeline.plan import ConstructionPlan, plan_work
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptAsk, ScriptStep
from construction.verifier.steps import STEPS, VerifyAsk
from curation.loaders.base import LoadResult
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.construction import authored
from tests.support.construction.authored import many, run
from tests.support.construction.verified import FACT, PROMPT, readings
from tests.support.facts import make_fact, write_facts
from tests.support.scripted_server import Raw, ScriptedServer, asked, author, completion, field

facts = authored.facts


def verdicts(folder, check):
    with Store.open(folder / "s.duckdb") as store:
        texts = {q.id: q.text for q in store.all(ScriptQuestion)}
        return {texts[v.item_id]: v for v in store.verdicts() if v.check == check}


def test_candidates_are_chosen_and_replaced_and_explained(tmp_path, facts):
    with ScriptedServer(many) as server:
        funnel = run(facts, tmp_path / "o", server, "--questions", 3, "--candidates", 8)
        calls = Counter("Question 1: " in asked(p) for p in server.requests)
        assert [field(p["messages"][-1]["content"], "Number of questions") for p in server.requests][:1] == ["8"]
    # of 8: 1 leaks, 3 are chosen and stand, the others are surplus
    wanted = next(stage for stage in funnel["funnel"] if stage["name"] == "questions")
    assert (wanted["total"], wanted["kept"], wanted["unsure"]) == (16, funnel["kept"], 0) and funnel["kept"] == 6
    assert calls[True] == 2, "the scripts of a fact are one request"
    records = verdicts(tmp_path / "o", "surplus")
    peru = {t: v for t, v in records.items() if "Peru" in t}
    texts = [t for t, v in peru.items() if v.label == "keep" and "rent a house" not in t]
    excluded_texts = [t for t, v in peru.items() if v.label == "drop"]
    assert len(texts) == 3 and len(excluded_texts) == wanted["surplus"] / 2 >= 3
    assert len({"soup" in t for t in texts}) == 2 and sum("soup" in t for t in texts) == 1  # not both soups
    assert all("more candidates than wanted" in peru[t].reason for t in excluded_texts)
    with Store.open(tmp_path / "o/s.duckdb") as store:
        keys = {q.text: q.key for q in store.all(ScriptQuestion)}
        asked_for = {s.question for s in store.all(Script)}
        assert not {keys[t] for t in excluded_texts} & asked_for and len([t for t in keys if "Peru" in t]) == 8


def test_other_numbers_later_settle_it_anew(tmp_path, facts):
    with ScriptedServer(many) as server:
        run(facts, tmp_path / "o", server, "--questions", 1, "--candidates", 8)
        first = verdicts(tmp_path / "o", "surplus")
        before = len(server.requests)
        run(facts, tmp_path / "o", server, "--questions", 6, "--candidates", 8)
        assert not any("Number of questions" in p["messages"][-1]["content"] for p in server.requests[before:])
        second = verdicts(tmp_path / "o", "surplus")
        run(facts, tmp_path / "o", server, "--questions", 8, "--candidates", 8)
        third = verdicts(tmp_path / "o", "surplus")
    drops = [sum(v.label == "drop" for v in reply.values()) for reply in (first, second, third)]
    assert drops[0] > drops[1] >= drops[2] == 0


def test_fewer_candidates_than_questions_are_refused(tmp_path, facts):
    with ScriptedServer(many) as server:
        output = run(facts, tmp_path / "o", server, "--questions", 4, "--candidates", 3, code=2)
    assert "--candidates 3 are fewer than --questions 4" in output and not server.requests


def test_two_authors_of_one_question_stand_side_by_side(tmp_path, facts):
    with ScriptedServer(many) as server:
        single_run = run(facts, tmp_path / "a", server, "--candidates", 4, "--author", "ann")
        funnel = run(facts, tmp_path / "o", server, "--candidates", 4, "--author", "ann", "--author", "bob")
        models = Counter((p["model"], "Question 1: " in asked(p)) for p in server.requests)
    assert set(models) == {("m", False), ("ann", True), ("bob", True)}  # m writes the questions only
    assert [a["author"] for a in funnel["authors"]] == ["ann", "bob"]
    assert [a["scripts"] for a in funnel["authors"]] == [6, 6] and funnel["kept"] == single_run["kept"] == 6
    with Store.open(tmp_path / "o/s.duckdb") as store, Store.open(tmp_path / "a/s.duckdb") as other:
        texts = defaultdict(set)
        for script in store.all(Script):
            (line,) = store.lineage(script.id)
            texts[script.question].add(line.model)
            assert script.steps[-1] == f"Thank {line.model}"
        assert set(map(frozenset, texts.values())) == {frozenset({"ann", "bob"})}
        assert {s.id for s in other.all(Script)} < {s.id for s in store.all(Script)}  # ann's keys are the same
        assert {p.key for p in other.all(ScriptPrompt)} < {p.key for p in store.all(ScriptPrompt)}


def test_one_text_of_two_authors_is_one_item_with_two_lines(tmp_path, facts):
    with ScriptedServer(author) as server:
        funnel = run(facts, tmp_path / "o", server, "--candidates", 4, "--author", "ann", "--author", "bob")
    with Store.open(tmp_path / "o/s.duckdb") as store:
        scripts = list(store.all(Script))
        for script in scripts:
            assert {x.model for x in store.lineage(script.id)} == {"ann", "bob"}
    assert {a["scripts"] for a in funnel["authors"]} == {len(scripts)}


def test_several_scripts_of_a_question(tmp_path, facts):
    counts = Counter()

    def vary(payload):
        user = payload["messages"][-1]["content"]
        if "Question: " in user:
            counts[user] += 1
            return json.dumps(
                {"steps": ["Go there", f"Look for {field(user, 'Object')}", f"Do it {counts[user]} times"]}
            )
        return many(payload)

    with ScriptedServer(vary) as server:
        funnel = run(facts, tmp_path / "o", server, "--questions", 1, "--candidates", 1, "--scripts", 3)
        count = len(server.requests)
        repeat = run(facts, tmp_path / "o", server, "--questions", 1, "--candidates", 1, "--scripts", 3)
    assert (funnel["kept"], funnel["authors"][0]["kept"]) == (2, 6)
    assert count == 2 + 6 and repeat["calls"] == 0
    with Store.open(tmp_path / "o/s.duckdb") as store:
        samples = {store.lineage(s.id)[0].detail["sample"] for s in store.all(Script)}
        assert samples == {0, 2, 4} and len(list(store.all(ScriptPrompt))) == 6


def test_failed_calls_are_on_record_with_their_tokens(tmp_path, facts):
    def refuse(payload):
        return "no JSON" if "Question: " in json.dumps(payload["messages"]) else many(payload)

    with ScriptedServer(refuse) as server:
        run(facts, tmp_path / "o", server, "--questions", 1, "--candidates", 1)
    with Store.open(tmp_path / "o/s.duckdb") as store:
        lines = list(store.lineages(stage="failed"))
    assert len(lines) == 2 and {x.detail["of"] for x in lines} == {"scripts"}
    assert all(x.tokens_out == 28 and x.detail["why"].startswith("unparseable") for x in lines)  # 2 attempts, 2 repairs


def test_own_prompts_are_used_and_named_in_the_lineage(tmp_path, facts):
    from construction.prompts.prompt_file import FILES, copy_prompts

    custom = tmp_path / "mine"
    copy_prompts("paper", custom)
    text = (custom / "scripts.toml").read_text().replace("scripts_paper", "scripts_mine")
    (custom / "scripts.toml").write_text(text.replace("You write scripts: each", "You plan days. Each"))
    scripts = FILES.load_all("paper", custom)["scripts"]
    with ScriptedServer(author) as server:
        run(facts, tmp_path / "o", server, "--prompts", custom)
        systems = {p["messages"][0]["content"].split(".")[0] for p in server.requests}
        assert "You plan days" in systems
        output = run(facts, tmp_path / "p", server, "--prompts", tmp_path / "nowhere", code=1)
        assert output == "" and not (tmp_path / "p/s.duckdb").exists()
        (custom / "verify_next.toml").write_text("[x")
        output = run(facts, tmp_path / "p", server, "--prompts", custom, code=1)
        assert output == "" and not (tmp_path / "p/s.duckdb").exists(), "a broken prompt stops before facts are stored"
    with Store.open(tmp_path / "o/s.duckdb") as store:
        lines = [store.lineage(s.id)[0] for s in store.all(Script)]
    assert {x.prompt for x in lines} == {"scripts_mine@6"}
    assert {x.detail["wording"] for x in lines} == {scripts.digest}, "the words themselves, whatever they are called"


AUTHORS = {
    "a name": ("ann", ("ann", "http://here/v1", "OPENAI_API_KEY")),
    "an address: no key goes there": ("ann@http://there/v1", ("ann", "http://there/v1", "SCEDIT_NO_KEY")),
    "a key of its own": ("ann@https://there/v1@THERE_KEY", ("ann", "https://there/v1", "THERE_KEY")),
    "an at sign in the name": ("ann@2024", ("ann@2024", "http://here/v1", "OPENAI_API_KEY")),
    "an owner with an at sign": ("@cf/meta/ann", ("@cf/meta/ann", "http://here/v1", "OPENAI_API_KEY")),
    "the embedded model": ("embedded", ("embedded", None, "OPENAI_API_KEY")),
    "the model fetched once": ("local", ("local", None, "OPENAI_API_KEY")),
    "an endpoint's model of that name": ("local@http://there/v1", ("local", "http://there/v1", "SCEDIT_NO_KEY")),
}


@pytest.mark.parametrize("kind", AUTHORS)
def test_how_authors_are_named(kind):
    text, expected = AUTHORS[kind]
    (result,) = script_authors([text], Access(model="m", base_url="http://here/v1"), "paper")
    assert (result.access.model, result.access.base_url, result.access.key_name) == expected
    record = {"embedded": "embedded", "local": "local"}
    assert result.profile == record.get(text, "paper"), "a small model has prompts of its own, an endpoint's has not"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["ann", "ann"], "twice"),
        ([""], "names no model"),
        (["@http://x/v1"], "names no model"),
        (["https://x/v1"], "names no model"),
        (["dora"], "price of every"),
        (["ann@127.0.0.1:9/v1"], "--author 'ann@127.0.0.1:9/v1': .* write http:// or https:// before the address"),
        (["ann@localhost:8000"], "address without its beginning"),
        (["ann@models.example.org/v1@THERE_KEY"], "address without its beginning"),
        (["ann@ftp://there/v1"], "address without its beginning"),
    ],
)
def test_authors_that_are_refused(names, words):
    base = Access(model="gpt-4o", max_cost=1.0 if names == ["dora"] else None)
    with pytest.raises(UserError, match=words):
        script_authors(names, base, "paper")


def test_a_model_file_whose_path_has_an_at_sign(tmp_path):
    path = tmp_path / "a@b" / "m.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF...")
    (result,) = script_authors([f"gguf:{path}"], Access(model="m", base_url="http://here/v1", max_cost=1.0), "paper")
    assert result.access.model == f"gguf:{path}" and result.access.base_url is None
    assert result.access.price().cost(10**9, 10**9) == 0.0  # a limit in dollars does not stop what costs nothing


def test_temporal_edits_get_the_nearest_subjects_with_questions_of_their_own(tmp_path):
    edit = make_fact("Lake Garda", "Rome", "Oslo", key="e/1").model_copy(update={"change": "temporal"})
    others = [make_fact("Lake Como", "Bern", None), make_fact("Quux", "Kyiv", None), make_fact("Lake X", "Rome", None)]
    path = write_facts(tmp_path / "f.jsonl", (edit, *others[1:]))
    more = write_facts(tmp_path / "more.jsonl", others[:1])
    with ScriptedServer(many) as server:
        funnel = run(path, tmp_path / "o", server, "--neighbours", 2, "--neighbours-from", more)
    (undated,) = [why for why in funnel["reasons"] if why["kind"] == "fact"]  # nobody knows when it changed
    assert (undated["check"], undated["label"], undated["count"]) == ("fact_dates", "unsure", 1)
    assert undated["examples"][0][0] == "e/1" and "without the date" in undated["examples"][0][1]
    with Store.open(tmp_path / "o/s.duckdb") as store:
        links = {x.fact: x for x in store.all(Neighbour)}
        assert list(links) == ["f/Lake-Como", "f/Quux"]
        near, far = (links[k] for k in links)
        assert near.how == "near_subject" and near.distance < far.distance and "TF-IDF" in near.measure
        prompts = {p.fact: p for p in store.all(ScriptPrompt)}
        assert prompts["f/Lake-Como"].targets == ("Bern",)
        assert any(v.item_id == near.id and v.check == "subject_in_neighbour" for v in store.verdicts())


@pytest.mark.parametrize("name", ["", "reader@http", "http://there/v1"])
def test_a_verifier_without_a_name_is_refused_by_its_option(name):
    with pytest.raises(UserError, match=f"--verify '{name}' names no model"):
        verifier(name, Access(model="gpt-4o"), "paper")


# A dry run counts what the command would ask now: exactly the rest of a stopped run, nothing of a finished one.
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
def countries(tmp_path):
    edits = [make_fact(f"Country {n}", place, "Oslo") for n, place in enumerate(PLACES)]
    edits.append(make_fact("Old Country", "Lima", None))
    return write_facts(tmp_path / "facts.jsonl", edits)


TWO_AUTHORS = ("--author", "ann", "--author", "bob", "--scripts", "2")
OPTIONS = {
    "two authors and neighbours": (*TWO_AUTHORS, "--neighbours", "2", "--neighbour-questions", "2"),
    "candidates and a reader": ("--candidates", "6", "--verify", "reader"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_it_counts_what_the_next_run_asks_and_nothing_of_a_finished_one(tmp_path, countries, name):
    line = ("--questions", "2", *OPTIONS[name])
    with ScriptedServer(answer) as server:
        run(countries, tmp_path / "o", server, *line, "--limit", "1")
        output = run(countries, tmp_path / "o", server, *line, "--dry-run")
        count = len(server.requests)
        run(countries, tmp_path / "o", server, *line)
        assert sum(stage["calls"] for stage in output["stages"]) == len(server.requests) - count > 0
        total = sum(len(m["content"]) for p in server.requests[count:] for m in p["messages"]) / 4
        assert output["tokens_in"] == pytest.approx(total, rel=0.25)
        results = run(countries, tmp_path / "o", server, *line, "--dry-run")
    assert [stage["calls"] for stage in results["stages"]] == [0] * len(results["stages"])
    assert (results["tokens_in"], results["tokens_out"]) == (0, 0)


def test_what_was_dropped_since_is_counted(tmp_path, countries):
    """People and readers drop prompts after a finished run: their replacements are what is left to ask."""
    line, store = ("--questions", "2", *OPTIONS["candidates and a reader"]), tmp_path / "o" / "s.duckdb"
    with ScriptedServer(answer) as server:
        run(countries, tmp_path / "o", server, *line)
        with Store.open(store, write=True) as db:
            by, item = "blind_asked@1", next(iter(db.all(ScriptPrompt))).id
            key = verdict_key(item_id=item, by=by)
            db.put([Verdict(key=key, item_id=item, by=by, label="drop", reason="nobody asks this")])
        output = run(countries, tmp_path / "o", server, *line, "--dry-run")
        count = len(server.requests)
        run(countries, tmp_path / "o", server, *line)
    assert output["script_calls"] == 1 and sum(stage["calls"] for stage in output["stages"]) == 3
    assert len(server.requests) - count == 3


def test_scripts_that_are_missing_are_counted(tmp_path, countries):
    """One of two authors was away: what the other one wrote is not counted again."""

    def busy(payload):
        if payload["model"] == "bob":
            return Raw(503, {"error": {"message": "busy"}}, {"Retry-After": "0"})
        return answer(payload)

    line = ("--questions", "4", "--limit", "1", "--author", "ann", "--author", "bob")
    with ScriptedServer(busy) as server:
        run(countries, tmp_path / "o", server, *line, "--concurrency", 1, code=1)
        server.answer = answer
        report = run(countries, tmp_path / "o", server, *line, "--dry-run")
        count = len(server.requests)
        run(countries, tmp_path / "o", server, *line)
        assert (report["question_calls"], report["script_calls"]) == (0, 1) and len(server.requests) == count + 1


def test_failures_on_record_are_counted_only_where_they_are_asked_again(tmp_path, countries):
    refuse = [True]

    def answers(payload):
        scripts = "Question: " in payload["messages"][-1]["content"]
        return Raw(body=completion(None, refusal="no")) if refuse[0] and scripts else answer(payload)

    line = ("--questions", "2", "--limit", "2")
    with ScriptedServer(answers) as server:
        run(countries, tmp_path / "o", server, *line)
        assert run(countries, tmp_path / "o", server, *line, "--dry-run")["script_calls"] == 0
        output = run(countries, tmp_path / "o", server, *line, "--dry-run", "--retry-failed")
        refuse[0], count = False, len(server.requests)
        run(countries, tmp_path / "o", server, *line, "--retry-failed")
        assert output["script_calls"] == len(server.requests) - count == 2
        assert run(countries, tmp_path / "o", server, *line, "--dry-run", "--retry-failed")["script_calls"] == 0


def test_nothing_is_written_while_it_is_rehearsed(tmp_path, countries):
    with ScriptedServer(answer) as server:
        run(countries, tmp_path / "o", server, "--limit", "2")
        before = {p.name: p.read_bytes() for p in (tmp_path / "o").iterdir()}
        run(countries, tmp_path / "o", server, "--dry-run")
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


def estimated(countries: list[Fact], plan: ConstructionPlan, **access: object) -> ConstructionEstimate:
    """The estimate of a job over some facts that has no store and no journal yet."""
    asked = Access.model_validate({"model": "m", **access})
    job = ConstructionJob(facts="given", store=Path("absent.duckdb"), access=asked)
    work, authors = plan_work(countries, countries, plan), (ScriptAuthor(asked, plan.profile),)
    return PreparedJob(plan, work, job, authors, None, LoadResult((), (), "given")).estimate()


def test_two_hundred_facts_are_counted_in_seconds():
    plan = ConstructionPlan()
    countries = [make_fact(f"Country {n}", "Lima", "Oslo") for n in range(200)]
    start = time.process_time()
    expected = estimated(countries, plan)
    assert time.process_time() - start < 10
    assert [s.calls for s in expected.stages] == [200, 200] and expected.answers == 400


def test_of_nothing_there_are_not_so_many_times_as_many():
    countries = [make_fact("Peru", "Lima", "Oslo")]
    plan = ConstructionPlan(questions=3, neighbours=0)
    cost_estimate = estimated(countries, plan).model_copy(update={"attempts": 2})
    assert "up to 2 times as many" in cost_estimate.sentence()
    variant = cost_estimate.model_copy(update={"question_calls": 0, "script_calls": 0, "stages": ()})
    assert "0 calls" in variant.sentence() and "times as many" not in variant.sentence()
