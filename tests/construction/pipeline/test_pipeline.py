"""One construction into a store, without a network: transactions, marks, links, what a later run changes."""

from __future__ import annotations

import asyncio

import pytest

from construction.authoring.outcome import MARK
from construction.pipeline.pipeline import Construction, author_of
from construction.pipeline.plan import ConstructionPlan, plan_work
from construction.report.store_funnel import store_yield
from curation.store.store import Store
from schemas.facts import Fact, Neighbour
from tests.support.construction.scripted_client import ScriptedClient, client_of
from tests.support.construction.scripted_client import plain_author as answer
from tests.support.facts import make_fact

PERU, OLD_PERU, INCA = make_fact(), make_fact("Old Peru", "Lima", None), make_fact("Inca Land", "Lima", None)
JAPAN = make_fact("Japan", "Tokyo", "Rome")


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


def test_edits_that_are_neighbours_of_each_other_are_no_further_work():
    plan = ConstructionPlan(neighbours=3)
    twin = make_fact("Old Peru", "Lima", "Rome")
    work = plan_work([PERU, twin], [PERU, twin, INCA], plan)
    assert [f.key for f in work.others] == [INCA.key] and set(work.drawn) == {PERU.key, twin.key}
    assert plan_work([PERU], [PERU, INCA], ConstructionPlan(neighbours=0)).drawn == {}
