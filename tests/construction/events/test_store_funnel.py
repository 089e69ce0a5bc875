"""The funnel of a store of events is that of the run that filled it."""

from __future__ import annotations

from pathlib import Path

from construction.events.funnel import EventFunnel, stored_events
from construction.events.pipeline import EventJob, prepare_events
from construction.llm.endpoint import Access
from construction.report.funnel import Funnel
from curation.store.store import Store
from schemas.events.questions import TendencyQuestion
from tests.construction.events.test_job import LIVE
from tests.support.construction.event_author import answer
from tests.support.construction.event_templates import sources
from tests.support.curation.verdicts import make_verdict
from tests.support.events import event_records
from tests.support.scripted_server import ScriptedServer

SAME = ("events", "paraphrased", "topic_events", "topic_kept", "facts_in", "facts_out", "unknown", "background",
        "tendencies_in", "tendencies_out", "kept_in", "kept_out")  # fmt: skip


def constructed(folder: Path, url: str) -> Funnel:
    job = EventJob(**sources(folder), store=folder / "s.duckdb", events=4, topics=("Energy",), events_per_topic=10,
                   access=Access(model="m", base_url=url))  # fmt: skip
    return prepare_events(job).run(live=LIVE)


def stored(folder: Path) -> EventFunnel | None:
    with Store.open(folder / "s.duckdb") as store:
        return stored_events(store)


def test_it_counts_what_the_run_counted_and_people_after_it(tmp_path: Path) -> None:
    with ScriptedServer(answer) as server:
        output = constructed(tmp_path, server.url)
    rows = stored(tmp_path)
    assert rows is not None
    assert {n: rows.n[n] for n in SAME} == {n: output.n[n] for n in SAME}
    text = "\n".join(output.lines())
    for words in ("(the paper: 674 of 1,800)", "(people in the paper: 78.4 %)", "drop by stands_alone", " calls made."):
        assert words in text
    assert rows.n["topic_kept"] < rows.n["topic_events"] and rows.n["kept_in"] < rows.n["tendencies_in"]
    assert rows.lines(stored=True)[0].split() == ["events", "of", "templates", "4", "the", "paper:", "841"]
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        question = next(q for q in store.all(TendencyQuestion) if q.scope == "out")
        store.put([make_verdict(question.id, "drop", "person:ann/judge_tendency@1")])
    after = stored(tmp_path)
    assert after is not None and after.n["kept_out"] == rows.n["kept_out"] - 1
    assert ("checks", "drop by people (judge_tendency)", 1) in after.losses()


def test_what_came_from_a_file_is_no_construction(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(event_records())
    assert stored(tmp_path) is None


def test_nothing_divides_by_nothing() -> None:
    assert "0" in "\n".join(EventFunnel().lines())
