"""What a command line comes to before anything is asked: facts, neighbours, plan, models."""

from __future__ import annotations

import pytest

from construction.llm.endpoint import Access
from construction.pipeline.job import ConstructionJob, prepare
from construction.pipeline.plan import AHEAD
from schemas.core.errors import DataError, UserError
from schemas.facts import Entity, Relation
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
