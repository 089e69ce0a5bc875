"""What a command line comes to before anything is asked: facts, neighbours, plan, models."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from construction.authoring.outcome import MARK
from construction.llm.endpoint import Access
from construction.pipeline.earlier_runs import dropped_by_people, dropped_in, dropped_later
from construction.pipeline.job import ConstructionJob, prepare
from construction.pipeline.pipeline import Construction, author_of
from construction.pipeline.plan import AHEAD, ConstructionPlan, plan_work
from construction.report.store_funnel import store_yield
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.facts import Entity, Fact, Neighbour, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Label, Verdict, verdict_key
from tests.support.construction.scripted_client import ScriptedClient, client_of
from tests.support.construction.scripted_client import plain_author as answer
from tests.support.facts import make_fact


@pytest.fixture
def job(tmp_path):
    """Makes a job over facts; nothing of it may touch the disk."""

    def make(*facts, lines=(), **options):
        path = tmp_path / "facts.jsonl"
        path.write_text("".join(f"{line}\n" for line in (*(f.model_dump_json() for f in facts), *lines)))
        access = options.pop("access", Access(model="m", base_url="http://127.0.0.1:1/v1"))
        return ConstructionJob(
            facts=str(path), store=tmp_path / "s.duckdb", access=access, **{"unverified": True, **options}
        )

    return make


PERU, OLD_PERU, JAPAN = make_fact(), make_fact("Old Peru", "Lima", None), make_fact("Japan", "Tokyo", "Rome")


def test_edits_are_limited_and_neighbours_come_from_all(job, tmp_path):
    plan = prepare(job(PERU, OLD_PERU, JAPAN, limit=1), on_progress=print)
    assert [f.key for f in plan.work.edits] == [PERU.key] and [f.key for f in plan.work.others] == [OLD_PERU.key]
    assert [p.name for p in tmp_path.iterdir()] == ["facts.jsonl"], "nothing is opened or written"
    assert plan.estimate().question_calls == 2 and plan.estimate().answers == 2 + 1 + 1


def test_facts_that_change_nothing_are_no_work(job):
    assert prepare(job(OLD_PERU), on_progress=print) is None


def test_further_files_give_neighbours_and_no_edits(job, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text(OLD_PERU.model_dump_json() + "\n" + make_fact("New Peru", "Lima", "Oslo").model_dump_json())
    plan = prepare(job(PERU, table_paths=(str(more),)), on_progress=print)
    assert {f.key for f in plan.work.others} == {OLD_PERU.key, "f/New-Peru"} and len(plan.work.edits) == 1


def test_a_relation_in_words_finds_the_neighbours_of_its_property(job, tmp_path):
    in_words = Relation(id="capital", label="Capital")
    mine = PERU.model_copy(update={"relation": in_words})
    named = OLD_PERU.model_copy(update={"relation": Relation(id="P36", label="capital")})
    beside = PERU.model_copy(update={"key": "f/own", "subject": Entity(text="Peru's twin"), "relation": in_words})
    more = tmp_path / "more.jsonl"
    more.write_text(f"{named.model_dump_json()}\n{beside.model_dump_json()}")
    prepared = prepare(job(mine, table_paths=(str(more),)), on_progress=print)
    assert set(prepared.work.others) == {named, beside}, "as their files have them"
    assert prepared.work.alone() == ""


def test_facts_without_neighbours_are_named_before_anything_is_asked(job):
    lonely = prepare(job(PERU, OLD_PERU, JAPAN), on_progress=print)
    assert "1 of 2 facts have no neighbour, so S-NS or S-BO has no value: f/Japan;" in lonely.estimate().sentence()
    assert "no neighbour" not in prepare(job(JAPAN, neighbours=0), on_progress=print).estimate().sentence()


def test_a_table_names_neighbours_by_their_subjects(job, tmp_path):
    table = tmp_path / "own.csv"
    line = "Ana,native language,The native language of {} is,Spanish,French,Rosa|Miguel"
    table.write_text(f"subject,relation,prompt,old,new,neighbours\n{line}\n")
    work = prepare(job().model_copy(update={"facts": str(table)}), on_progress=print).work
    found = {(fact.subject.text, fact.old.text, fact.fact_prompt) for fact in work.others}
    assert found == {(who, "Spanish", f"The native language of {who} is") for who in ("Rosa", "Miguel")}


def test_bad_records_stop_it_or_are_told_and_left_out(job):
    messages = []
    with pytest.raises(DataError):
        prepare(job(PERU, lines=['{"key": 3}']), on_progress=messages.append)
    assert messages == []
    assert prepare(job(PERU, lines=['{"key": 3}'], skip_bad=True), on_progress=messages.append) is not None
    assert len(messages) == 1 and "facts.jsonl" in messages[0] and "line 2" in messages[0]


def test_a_limit_without_a_price_is_refused_before_the_facts_are_read(job):
    with pytest.raises(UserError, match="--max-cost needs a price"):
        prepare(job(lines=["no fact"], access=Access(model="m", max_cost=1.0)), on_progress=print)


@pytest.mark.parametrize(
    ("access", "profile", "facts"),
    [
        (Access(), "embedded", 1),
        (Access(concurrency=3), "embedded", 2),
        (Access(model="m"), "paper", 20),
        (Access(model="m", concurrency=64), "paper", 64),
        (Access(model="m", batch=True), "paper", 1_000_000),
        (Access(model="embedded", base_url="http://127.0.0.1:1/v1"), "paper", 20),
    ],
    ids=[
        "embedded",
        "embedded, several at once",
        "an endpoint",
        "many at once",
        "batch",
        "a model of that name at an endpoint",
    ],
)
def test_prompts_and_facts_a_transaction_follow_the_model(job, access, profile, facts):
    plan = job(PERU, access=access).plan
    assert (plan.profile, plan.batch) == (profile, facts)


@pytest.mark.parametrize(
    ("options", "facts", "ahead"),
    [({}, 1, 0), ({"named": ("ann@http://127.0.0.1:1/v1",)}, 2, AHEAD), ({"reader_name": "embedded"}, 2, AHEAD)],
)
def test_a_model_that_works_alone_finishes_a_fact_before_the_next(job, options, facts, ahead):
    plan = job(PERU, access=Access(), **options).plan
    assert (plan.batch, plan.ahead) == (facts, ahead)


def test_a_profile_that_is_named_is_everybody_s(job):
    plan = prepare(job(PERU, profile="embedded", named=("ann",), reader_name="bob"), on_progress=print)
    assert (plan.plan.profile, plan.authors[0].profile) == ("embedded", "embedded")
    assert plan.reader is not None and plan.reader.access.model == "bob"


@pytest.mark.parametrize("who", [{"named": ("embedded",)}, {"reader_name": "embedded"}])
def test_threads_and_context_hold_for_an_author_on_this_machine_beside_another_model(job, who):
    access = Access(model="m", base_url="http://127.0.0.1:1/v1", threads=1, context=1024)
    plan = prepare(job(PERU, access=access, **who), on_progress=print)
    beside = plan.reader or plan.authors[0]
    assert (beside.access.threads, beside.access.context) == (1, 1024)
    assert (plan.job.access.threads, plan.job.access.context) == (None, None)
    with pytest.raises(UserError, match="--context is for a model on this machine"):
        prepare(job(PERU, access=access, named=("ann", "embedded@http://127.0.0.1:1/v1")), on_progress=print)


@pytest.mark.parametrize(
    ("access", "options", "unread"),
    [
        (Access(), {}, True),
        (Access(), {"unverified": True}, False),
        (Access(), {"reader_name": "embedded"}, False),
        (Access(model="m", base_url="http://127.0.0.1:1/v1"), {}, False),
    ],
)
def test_what_is_written_on_this_machine_is_unsure_where_nobody_reads_it(tmp_path, access, options, unread):
    job = ConstructionJob(facts="f", store=tmp_path / "s", access=access, **options)
    assert job.plan.unread is unread


# One construction into a store, without a network: transactions, marks, links, what a later run changes.
INCA = make_fact("Inca Land", "Lima", None)


@pytest.fixture
def run(tmp_path):
    """Constructs into the store of this test; gives the counts, what was told meanwhile, and the client."""

    def construct(edits, table=(), *, client=None, **options):
        plan = ConstructionPlan(**{"questions": 1, "neighbours": 2, **options})
        work = plan_work(edits, [*edits, *table], plan)
        client, messages = client or client_of(answer), []
        with Store.open(run.path, create=True) as store:
            author = author_of(plan, client)
            construction = Construction(store, author, plan, origin="here", progress=messages.append)
            counts = asyncio.run(construction(work))
        return counts, messages, client

    run = construct
    run.path = tmp_path / "s.duckdb"
    return run


def labels(path, check):
    with Store.open(path) as store:
        keys = {f.id: f.key for f in store.all(Fact)}
        return {keys[v.item_id]: v.label for v in store.verdicts() if v.check == check and v.item_id in keys}


def test_edits_and_those_that_only_serve_are_stored_and_told_after_every_batch(run):
    counts, output, _ = run([PERU, JAPAN], [OLD_PERU, INCA], batch=1)
    assert (counts.done, counts.kept, counts.unfinished) == (4, 4, 0)
    assert [(p.done, p.total) for p in output] == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)] and output[-1] == counts
    assert labels(run.path, MARK) == {"f/Peru": "keep", "f/Japan": "keep", "f/Old-Peru": "drop", "f/Inca-Land": "drop"}
    with Store.open(run.path) as store:
        assert {(x.edit, x.fact) for x in store.all(Neighbour)} == {("f/Peru", "f/Old-Peru"), ("f/Peru", "f/Inca-Land")}
        lines = {x.item_id: x for x in store.lineages(stage="load")}
        assert lines[PERU.id].detail == {"from": "here"}


class _Waiting(ScriptedClient):
    """Lets others go on before it answers, as an endpoint does."""

    async def ask(self, request):
        await asyncio.sleep(0.01)
        return await super().ask(request)


@pytest.mark.parametrize(("ahead", "order"), [(0, "Peru Peru Japan Japan"), (3, "Peru Japan Peru Japan")])
def test_with_none_ahead_a_fact_is_finished_before_the_next_is_begun(run, ahead, order):
    """So that a slow run that is stopped holds finished facts, and not only questions."""
    client = _Waiting(answer)
    run([PERU, JAPAN], neighbours=0, batch=1, ahead=ahead, client=client)
    assert ["Peru" if "Peru" in text else "Japan" for text in client.last_turns()] == order.split()


def test_a_fact_that_served_and_is_edited_later_makes_a_case_and_stays_one(run):
    later = OLD_PERU.model_copy(update={"new": make_fact().new, "change": "counterfactual"})
    run([PERU], [later], neighbours=1)
    assert labels(run.path, MARK)[later.key] == "drop"
    run([later], [PERU], neighbours=1)
    assert labels(run.path, MARK)[later.key] == "keep"
    run([PERU], [later], neighbours=1)
    assert labels(run.path, MARK) == {PERU.key: "keep", later.key: "keep"}, "serving again undoes no edit"


def test_links_are_judged_by_the_prompts_of_the_neighbour(run):
    """A neighbour's prompt that names the edited subject does not fit; one that does not, does."""
    run([PERU], [OLD_PERU, INCA])
    links = store_yield(run.path).funnel[-1]
    assert (links.total, links.kept) == (2, 1), "'Peru' is part of 'Old Peru'"


def test_one_fact_that_serves_two_edits_is_asked_about_once_and_linked_twice(run):
    second = make_fact("Chile", "Lima", "Oslo")
    counts, _, client = run([PERU, second], [INCA], neighbours=5)
    assert sum("Subject: Inca Land" in turn for turn in client.last_turns()) == 1
    with Store.open(run.path) as store:
        links = {(x.edit, x.fact) for x in store.all(Neighbour)}
    assert {(PERU.key, INCA.key), (second.key, INCA.key), (PERU.key, second.key), (second.key, PERU.key)} == links
    assert counts.done == 3


@pytest.mark.parametrize(
    ("options", "edit_count", "serving"),
    [
        ({}, (4, 4, 1), (1, 1, 1)),
        ({"candidates": 8}, (4, 8, 1), (1, 2, 1)),
        ({"candidates": 5, "neighbour_questions": 3, "scripts": 2}, (4, 5, 2), (3, 4, 2)),
        ({"questions": 1, "candidates": 60}, (1, 60, 1), (1, 60, 1)),
    ],
)
def test_how_much_is_asked_for(options, edit_count, serving):
    plan = ConstructionPlan(**options)
    assert (tuple(plan.quota(edited=True)), tuple(plan.quota(edited=False))) == (edit_count, serving)


# Questions that people dropped before scripts: whose verdicts count, and that no script is written for them.
def said(item: str, who: str, label: Label, form: str = "screen_question@1") -> Verdict:
    by = f"person:{who}/{form}"
    return Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label=label, reason="changes")


@pytest.mark.parametrize(
    ("verdicts", "drops"),
    [
        ([], False),
        ([said("q", "ann", "drop")], True),
        ([said("q", "ann", "keep")], False),
        ([said("q", "ann", "drop"), said("q", "bob", "keep")], False),
        ([said("q", "ann", "drop"), said("q", "bob", "keep"), said("q", "eve", "drop")], True),
        ([said("q", "ann", "drop"), said("q", "lea", "keep", "screen_question_adjudicated@1")], False),
        ([said("q", "ann", "keep"), said("q", "lea", "drop", "screen_question_adjudicated@1")], True),
        ([said("q", "synthetic-ann", "drop")], False),
        ([said("q", "ann", "drop", "filter_question@1")], False),
        ([said("q", "ann", "drop", "screen_question_meaningful@1")], False),
    ],
)
def test_whose_verdict_counts(verdicts: list[Verdict], drops: bool) -> None:
    assert list(dropped_by_people(verdicts)) == (["q"] if drops else [])


def test_a_newer_version_of_a_check_takes_its_drop_back() -> None:
    labels: list[Label] = ["drop", "keep"]
    said = [Verdict(key=f"v/{n}", item_id="q", by=f"fit@{n}", label=x, reason="r") for n, x in enumerate(labels, 1)]
    assert list(dropped_later(said[:1])) == ["q"] and not dropped_later(said)


def construct(path: Path, reply: Any = answer, **options: Any) -> Any:
    plan = ConstructionPlan(**{"questions": 2, "neighbours": 0, "batch": 1, **options})
    with Store.open(path, create=True) as store:
        work = plan_work([PERU, JAPAN], [PERU, JAPAN], plan)
        author = author_of(plan, client_of(reply), dropped=dropped_in(store))
        construction = Construction(store, author, plan, origin="here")
        return asyncio.run(construction(work))


def stored(path: Path) -> tuple[list[ScriptQuestion], set[str]]:
    with Store.open(path) as store:
        return list(store.all(ScriptQuestion)), {s.question for s in store.all(Script)}


def test_questions_come_alone_and_what_people_drop_gets_no_script(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    counts = construct(path, scripts=0)
    questions, scripted = stored(path)
    assert (len(questions), scripted) == (4, set())
    assert counts.kept == store_yield(path).stage("questions").kept == 4, "a question alone is no failure"
    with Store.open(path, write=True) as store:
        store.put([said(questions[0].id, "ann", "drop"), said(questions[1].id, "ann", "keep")])

    def stops(request: Any) -> str:
        if "Question: " in request.messages[-1].content and "Japan" in request.messages[-1].content:
            raise KeyboardInterrupt
        return answer(request)

    with pytest.raises(KeyboardInterrupt):  # stopped half way, then begun again
        construct(path, stops)
    repeat = construct(path)
    questions_after, scripted = stored(path)
    assert {q.id for q in questions_after} == {q.id for q in questions}
    assert scripted == {q.key for q in questions} - {questions[0].key}
    funnel = store_yield(path)
    assert (repeat.kept, funnel.stage("questions").kept, funnel.stage("questions").dropped) == (3, 3, 1)
    assert any(why.check == "screen_question" and why.examples[0][1] == "changes" for why in funnel.reasons)
    construct(path)
    assert stored(path)[1] == scripted, "once more changes nothing"


def by_check(item: str, check: str, label: Label) -> Verdict:
    by = f"{check}@1"
    return Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label=label, reason="guessed")


@pytest.mark.parametrize(
    ("verdicts", "drops"),
    [
        ([by_check("p", "blind_hidden", "drop")], True),
        ([by_check("p", "blind_hidden", "keep")], False),
        ([by_check("p", "blind_hidden", "unsure")], False),
        ([by_check("p", "leak_in_prompt", "drop")], False),
        ([by_check("p", "blind_hidden", "drop"), said("p", "ann", "keep", "filter_question@1")], False),
        ([said("p", "ann", "drop", "filter_question@1")], True),
        ([said("p", "ann", "drop", "f@1"), said("p", "lea", "keep", "f_adjudicated@1")], False),
    ],
)
def test_what_is_replaced(verdicts: list[Verdict], drops: bool, tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(verdicts)
        assert list(dropped_in(store)) == (["p"] if drops else [])


def test_a_prompt_that_was_dropped_since_is_replaced_by_the_next_question(tmp_path: Path) -> None:
    path, asked = tmp_path / "s.duckdb", []

    def reply(request: Any) -> str:
        asked.append(request.messages[-1].content)
        return answer(request)

    construct(path, reply, candidates=4)
    with Store.open(path, write=True) as store:
        first = list(store.all(ScriptPrompt))
        store.put([by_check(first[0].id, "blind_hidden", "drop")])
    before = len(asked)
    counts = construct(path, reply, candidates=4)
    with Store.open(path, write=True) as store:
        prompts = list(store.all(ScriptPrompt))
        new = [p for p in prompts if p.id not in {one.id for one in first}]
        chosen = {p.id for case in freeze(store, "s", SplitRule()).cases for p in case.prompts}
    assert len(new) == 1 and new[0].fact == first[0].fact
    assert counts.kept == 4 and any(why.check == "blind_hidden" for why in store_yield(path).reasons)
    assert chosen == {p.id for p in prompts} - {first[0].id}
    assert [sum("Question: " in text for text in some) for some in (asked[:before], asked[before:])] == [4, 5]
    construct(path, reply, candidates=4)
    with Store.open(path) as store:
        assert {p.id for p in store.all(ScriptPrompt)} == {p.id for p in prompts}, "once more changes nothing"


def test_questions_that_readers_dropped_get_no_scripts(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    construct(path, scripts=0, candidates=4)
    with Store.open(path, write=True) as store:
        questions = [q for q in store.all(ScriptQuestion) if q.fact == PERU.key]
        store.put([by_check(q.id, "blind_asked", "drop") for q in questions[:3]])
    construct(path, candidates=4)
    _, scripted = stored(path)
    assert scripted & {q.key for q in questions} == {questions[3].key} and len(scripted) == 3
