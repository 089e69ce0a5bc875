"""The funnel of a store of events is that of the run that filled it."""

from __future__ import annotations

from pathlib import Path

import pytest

from construction.events.funnel import EventCounts, EventTally, stored_event_counts
from construction.events.pipeline import EventJob, prepare_events
from construction.llm.endpoint import Access
from curation.store.store import Store
from schemas.events.questions import TendencyQuestion
from schemas.verdicts import Verdict
from tests.construction.events.test_job import LIVE
from tests.support.construction.event_author import answer
from tests.support.construction.event_templates import data, facts, write
from tests.support.curation.verdicts import make_verdict
from tests.support.events import event_records, make_fact_question, make_tendency
from tests.support.scripted_server import ScriptedServer

SAME = ("events", "paraphrased", "topic_events", "topic_kept", "facts_in", "facts_out", "unknown", "background",
        "tendencies_in", "tendencies_out", "kept_in", "kept_out")  # fmt: skip


def constructed(folder: Path, url: str) -> EventCounts:
    path = folder / "facts.jsonl"
    path.write_text("".join(f"{f.model_dump_json()}\n" for f in facts()), encoding="utf-8")
    job = EventJob(templates=write(folder / "t.toml", data()), store=folder / "s.duckdb", facts=(str(path),), events=4,
                   topics=("Energy",), events_per_topic=10, access=Access(model="m", base_url=url))  # fmt: skip
    return prepare_events(job).run(live=LIVE)


def test_it_counts_what_the_run_counted_and_people_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-for-tests")
    with ScriptedServer(answer) as server:
        output = constructed(tmp_path, server.url)
    rows = stored_event_counts(tmp_path / "s.duckdb")
    assert rows is not None
    assert {n: getattr(rows, n) for n in SAME} == {n: getattr(output, n) for n in SAME}
    assert rows.topic_kept < rows.topic_events and rows.kept_in < rows.tendencies_in
    assert rows.lines(stored=True)[0].split() == ["events", "of", "templates", "4", "the", "paper:", "841"]
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        question = next(q for q in store.all(TendencyQuestion) if q.scope == "out")
        store.put([make_verdict(question.id, "drop", "person:ann/judge_tendency@1")])
    after = stored_event_counts(tmp_path / "s.duckdb")
    assert after is not None and after.kept_out == rows.kept_out - 1
    assert ("checks", "drop by people (judge_tendency)", 1) in [(x.stage, x.reason, x.count) for x in after.losses]


def test_what_came_from_a_file_is_no_construction(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(event_records())
    assert stored_event_counts(tmp_path / "s.duckdb") is None


def verdict(label: str, item: str) -> Verdict:
    data = {"key": f"v/{label}", "item_id": item, "by": "stands_alone@1", "label": label, "reason": "because"}
    return Verdict.model_validate(data)


def test_counts_shares_and_reasons() -> None:
    tally = EventTally()
    tally.n.update(drawn=10, events=4, paraphrased=3, topic_events=8, topic_kept=6)
    questions = [make_fact_question(), make_fact_question(answer="unknown"), make_fact_question(scope="out")]
    for fact_question in (*questions, make_fact_question(background=True)):
        tally.count(fact_question, [])
    question = make_tendency()
    tally.count(question, [verdict("keep", question.id)])
    tally.count(question, [verdict("drop", question.id)])
    tally.count(make_tendency(scope="out"), [])
    tally.lose("draw", "A and B are the same", 5)
    tally.lose("paraphrase", "the name 'X' is lost")
    counts = tally.result(EventCounts, calls=7, quality=None)
    assert (counts.facts_in, counts.facts_out, counts.unknown, counts.background) == (3, 1, 1, 1)
    assert (counts.tendencies_in, counts.kept_in, counts.tendencies_out, counts.kept_out) == (2, 1, 1, 1)
    assert [(x.stage, x.count) for x in counts.losses] == [("draw", 5), ("paraphrase", 1), ("checks", 1)]
    text = "\n".join(counts.lines())
    for reply in ("75.0 % (the paper: 674 of 1,800)", "50.0 % (people in the paper: 78.4 %)", "the paper: 841"):
        assert reply in text
    assert "1 unknown, 1 background" in text and "drop by stands_alone" in text and "7 calls made." in text


def test_nothing_divides_by_nothing() -> None:
    assert "0" in "\n".join(EventTally().result(EventCounts, calls=0, quality=None).lines())
