"""Questions that people dropped before scripts: whose verdicts count, and that no script is written for them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from construction.authoring.screening import dropped_by_people
from construction.pipeline.pipeline import Construction, ConstructionPlan, plan_work
from curation.store.store import Store
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Label, Verdict, verdict_key
from tests.support.construction.scripted_client import client_of
from tests.support.facts import make_fact
from tests.support.scripted_server import field

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


def answer(request: Any) -> str:
    user = request.messages[-1].content
    if "Question: " in user:
        return json.dumps({"steps": ["Pack a small bag", f"Fly to {field(user, 'Object')}"]})
    subject, count = field(user, "Subject"), int(field(user, "Number of questions"))
    return json.dumps({"questions": [f"How can a visitor number {n} enter {subject}?" for n in range(count)]})


def construct(path: Path, reply: Any = answer, **options: Any) -> Any:
    plan = ConstructionPlan(**{"questions": 2, "neighbours": 0, "batch": 1, **options})
    with Store.open(path, create=True) as store:
        work = plan_work([PERU, JAPAN], [PERU, JAPAN], plan)
        return asyncio.run(Construction(store, client_of(reply), plan, origin="here")(work))


def stored(path: Path) -> tuple[list[ScriptQuestion], set[str]]:
    with Store.open(path) as store:
        return list(store.all(ScriptQuestion)), {s.question for s in store.all(Script)}


def test_questions_come_alone_and_what_people_drop_gets_no_script(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    counts = construct(path, scripts=0)
    questions, scripted = stored(path)
    assert (len(questions), scripted, counts.scripts, counts.calls) == (4, set(), 0, 2)
    assert (counts.kept, counts.rejected) == (4, 0), "a question alone is no failure"
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
    assert (repeat.kept, repeat.rejected) == (3, 1)
    assert any(r.check == "screen_question" and r.reason == "changes" for r in repeat.reasons)
    construct(path)
    assert stored(path)[1] == scripted, "once more changes nothing"
