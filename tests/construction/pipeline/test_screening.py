"""Questions that people dropped before scripts: whose verdicts count, and that no script is written for them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from construction.pipeline.earlier_runs import dropped_by_people, dropped_in, dropped_later
from construction.pipeline.pipeline import Construction, author_of
from construction.pipeline.plan import ConstructionPlan, plan_work
from construction.report.store_funnel import store_yield
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Label, Verdict, verdict_key
from tests.support.construction.scripted_client import client_of
from tests.support.construction.scripted_client import plain_author as answer
from tests.support.facts import make_fact

PERU, JAPAN = make_fact(), make_fact("Japan", "Tokyo", "Rome")


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
