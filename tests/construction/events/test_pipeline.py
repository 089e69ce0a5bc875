"""The funnel of a store of events is that of the run that filled it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from construction.events.draw import draw_events
from construction.events.funnel import EventFunnel, stored_events
from construction.events.pipeline import DrawnEvent, EventConstruction, EventJob, duplicate_verdicts, prepare_events
from construction.events.questions import ask_facts
from construction.events.steps import FILES
from construction.llm.endpoint import Access
from construction.llm.step import Request
from construction.pipeline.runner import ProgressDisplay
from construction.report.funnel import Funnel
from curation.files.model_packages import EMBEDDED_LABEL
from curation.rules.rule import EventRule
from curation.rules.selection import SelectionStream
from curation.similarity.texts import rouge1_f
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import TendencyQuestion
from tests.support.construction.event_author import answer, write
from tests.support.construction.event_templates import sources, table, templates
from tests.support.construction.scripted_client import client_of
from tests.support.construction.stored import contents
from tests.support.curation.verdicts import make_verdict
from tests.support.events import event_records, make_event
from tests.support.scripted_server import ScriptedServer

JOB = EventJob(
    templates=None,
    store=Path("s"),
    access=Access(model="local"),
    topics=("Energy",),
    events_per_topic=20,
    inside=3,
    outside=1,
)


def author(request: Request) -> str:
    return write(request.messages[-1].content, call=request.sample)


def drawn() -> list[DrawnEvent]:
    lists, facts = templates(), table()
    events = draw_events(lists.template[0], lists, facts, count=6).events
    return [DrawnEvent(f.event(lists.source), ask_facts(f, lists, facts)) for f in events]


def construct(path: Path, answer: Callable[[Request], Any] = author, *, model: str = "m") -> tuple[EventFunnel, Any]:
    client, funnel = client_of(answer, model=model), EventFunnel()
    with Store.open(path, create=True) as store:
        work = EventConstruction(JOB, FILES.load_all("paper"), drawn(), funnel)
        asyncio.run(work.write(store, [client], funnel))
        funnel.count(store, calls=client.calls)
    return funnel, client


def test_everything_is_stored_with_its_lineage_and_counted(tmp_path: Path) -> None:
    counts, client = construct(tmp_path / "s.duckdb")
    records, verdicts, lineage = contents(tmp_path / "s.duckdb")
    events, facts, tendencies = (records[kind] for kind in ("event", "fact_question", "tendency_question"))
    assert counts.n["events"] == 6 and counts.n["topic_events"] == 20 and counts.n["topic_kept"] < 20
    assert len(events) == 6 + 20  # duplicates are stored, and dropped by verdict
    assert sum(v[2] == "drop" and "event_duplicate" in v[0] for v in verdicts) == 20 - counts.n["topic_kept"]
    assert len(facts) == counts.n["facts_in"] + counts.n["facts_out"] and counts.n["unknown"] == 6
    assert counts.n["background"] == 6 and counts.n["unfinished"] == 0
    assert len(tendencies) == counts.n["tendencies_in"] + counts.n["tendencies_out"] == 4 * (6 + counts.n["topic_kept"])
    assert counts.n["kept_in"] < counts.n["tendencies_in"]  # "this event" stands in some
    assert {x[1] for x in lineage} >= {"fact_questions", "paraphrase", "tendency_questions", "topic_events"}
    assert {i for i, *_ in lineage} == {id for _, id in (*events, *facts, *tendencies)}
    losses = {(stage, reason): n for stage, reason, n in counts.losses()}
    assert losses["checks", "drop by stands_alone"] == counts.n["tendencies_in"] - counts.n["kept_in"]
    assert losses["topics", "drop by event_duplicate"] == 20 - counts.n["topic_kept"]
    assert losses["facts", "does not change for certain"] == 6
    assert client.calls == counts.n["calls"]


def test_the_text_of_a_small_model_is_of_smoke_test_quality(tmp_path: Path) -> None:
    assert construct(tmp_path / "s.duckdb", model=EMBEDDED_LABEL)[0].quality == "plumbing"
    assert construct(tmp_path / "t.duckdb")[0].quality is None


def test_a_paraphrase_that_loses_a_name_is_asked_again_and_then_given_up(tmp_path: Path) -> None:
    def loses(request: Request) -> str:
        user = request.messages[-1].content
        return json.dumps({"text": "Good news."}) if "Names that" in user else author(request)

    counts, client = construct(tmp_path / "s.duckdb", loses)
    assert counts.n["paraphrased"] == 0 and counts.n["events"] == 6
    matches = [r for r in client.asked if "Names that" in r.messages[-1].content]
    assert len(matches) == 18 and len({(r.messages, r.sample) for r in matches}) == 18  # three attempts each
    with Store.open(tmp_path / "s.duckdb") as store:
        for event in (e for e in store.all(Event) if e.origin == "template"):
            (line,) = store.lineage(event.id)
            assert line.stage == "template" and line.detail[TEMPLATE_TEXT] == event.text
    reasons = {reason: n for stage, reason, n in counts.losses() if stage == "paraphrase"}
    assert sum(reasons.values()) == 18 and all("is lost" in reason for reason in reasons)


def test_a_paraphrase_that_passes_takes_the_place_of_the_templates_words(tmp_path: Path) -> None:
    def keeps(request: Request) -> str:
        user = request.messages[-1].content
        if "Names that" not in user:
            return author(request)
        event = next(line for line in user.splitlines() if line.startswith("Event: ")).removeprefix("Event: ")
        return json.dumps({"text": f"A surprise. {event}"})

    counts, _ = construct(tmp_path / "s.duckdb", keeps)
    assert counts.n["paraphrased"] == counts.n["events"] == 6
    with Store.open(tmp_path / "s.duckdb") as store:
        events = [e for e in store.all(Event) if e.origin == "template"]
        assert all(e.text.startswith("A surprise. ") for e in events)
        for event in events:
            (line,) = store.lineage(event.id)
            assert line.stage == "paraphrase" and event.text == f"A surprise. {line.detail[TEMPLATE_TEXT]}"
            assert [v.label for v in store.verdicts([event.id])] == ["keep"]


def test_what_has_no_answer_is_finished_by_a_later_run(tmp_path: Path) -> None:
    def away(request: Request) -> str | None:
        user = request.messages[-1].content
        return None if "Questions in scope" in user and len(user) % 2 else author(request)

    counts, _ = construct(tmp_path / "whole.duckdb")
    first, _ = construct(tmp_path / "s.duckdb", away)
    assert first.n["unfinished"] and first.n["tendencies_in"] < counts.n["tendencies_in"]
    second, _ = construct(tmp_path / "s.duckdb")
    assert second.n["unfinished"] == 0 and contents(tmp_path / "s.duckdb") == contents(tmp_path / "whole.duckdb")


def test_no_event_of_a_topic_is_taken_before_all_are_there(tmp_path: Path) -> None:
    """Which of two like events goes hangs on the order of calls."""

    def away(request: Request) -> str | None:
        return None if "Topic" in request.messages[-1].content and request.sample == 0 else author(request)

    counts, _ = construct(tmp_path / "s.duckdb", away)
    assert counts.n["unfinished"] == 1 and counts.n["topic_events"] == 0
    with Store.open(tmp_path / "s.duckdb") as store:
        assert all(e.origin == "template" for e in store.all(Event))


def test_a_reply_of_no_use_is_a_loss_and_not_an_end(tmp_path: Path) -> None:
    counts, _ = construct(tmp_path / "s.duckdb", lambda _: "no JSON")
    assert (
        counts.n["topic_events"] == counts.n["tendencies_in"] == counts.n["paraphrased"] == 0
        and counts.n["facts_in"] == 18
    )
    losses = {(stage, reason): n for stage, reason, n in counts.losses()}
    assert losses["topics", "unparseable reply"] == 20 and losses["tendencies", "unparseable reply"] == 6
    assert losses["paraphrase", "unparseable reply"] == 18


def test_what_checks_drop_is_not_in_a_split(tmp_path: Path) -> None:
    counts, _ = construct(tmp_path / "s.duckdb")
    with Store.open(tmp_path / "s.duckdb") as store:
        cases = list(SelectionStream(store, EventRule()))
    assert sum(len(case.tendencies) for case in cases) == counts.n["kept_in"] + counts.n["kept_out"]
    assert len(cases) == counts.n["events"] + counts.n["topic_kept"]


def labels(*texts: str, threshold: float = 0.4) -> list[str | None]:
    events = [make_event(f"e/{n}", text) for n, text in enumerate(texts)]
    return [v.label for v in duplicate_verdicts(events, threshold=threshold)]


def test_at_the_threshold_both_stay() -> None:
    pair = ("a b c d e", "a b f g h")
    assert rouge1_f(*pair) == 0.4
    assert labels(*pair) == ["keep", "keep"]
    assert labels(*pair, threshold=0.39) == ["keep", "drop"]


def test_it_is_the_plain_definition_over_many() -> None:
    words = ["river", "coal", "port", "rail", "law", "gas", "wind", "tax", "bank", "farm"]
    texts = [f"{words[i]} {words[j]} {words[k]}" for i in range(10) for j in range(i) for k in range(j)]
    stays: list[str] = []
    for text in texts:
        if all(rouge1_f(text, other) <= 0.4 for other in stays):
            stays.append(text)
    assert [t for t, label in zip(texts, labels(*texts), strict=True) if label == "keep"] == stays
    assert 0 < len(stays) < len(texts)


def test_nothing_comes_of_nothing_and_verdicts_name_the_nearest() -> None:
    assert duplicate_verdicts([]) == []
    events = [make_event("e/1", "a b c"), make_event("e/2", "a b c d")]
    second = duplicate_verdicts(events)[1]
    assert second.related == (events[0].id,) and "e/1" in second.reason and second.unit == "rouge1_f"


LIVE = ProgressDisplay(0)


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """Makes a job over the small file of templates."""
    fields = {**sources(tmp_path), "store": tmp_path / "s.duckdb", "events": 4}

    def make(url: str = "http://127.0.0.1:9/v1", *, access: dict[str, Any] | None = None, **changes: Any) -> EventJob:
        connection = Access(model="m", base_url=url, **(access or {}))
        return EventJob(**{**fields, "access": connection, **changes})

    return make


def test_the_estimate_holds_of_first_attempts_and_a_second_run_asks_nothing(job: Any) -> None:
    with ScriptedServer(answer) as server:
        plan = job(server.url, topics=("Energy",), events_per_topic=10)
        prepared = prepare_events(plan)
        assert prepared.estimate().calls == 4 + 4 + 1 + 10
        counts = prepared.run(live=LIVE)
        assert prepare_events(plan).estimate().calls == 0, "all is cached"
        repeat = prepare_events(plan).run(live=LIVE)
    assert counts.n["calls"] and repeat.n["calls"] == 0
    assert counts.data() | {"calls": 0} == repeat.data()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"templates": None}, "nothing to construct; name a file of templates, or topics"),
        ({"topics": ("Energy", "")}, "the topic '' is empty or has white space at an end"),
        ({"topics": (" Law",)}, "the topic ' Law' is empty or has white space at an end"),
        ({"topics": ("Law", "Energy", "Law")}, "a topic is named twice: 'Law'; name it once"),
        ({"topics": ("Law", "law")}, "a topic is named twice: 'Law' and 'law'"),
        ({"facts": ()}, "has no fact: the table knows no"),
        ({"profile": "none"}, "no profile 'none'"),
        ({"access": {"max_cost": 1.0}}, "--max-cost needs a price"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_asked(
    job: Any, changes: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        prepare_events(job(**changes))
    assert not (tmp_path / "s.duckdb").exists()


def test_prompts_of_one_s_own_are_asked(job: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    text = FILES.file("paraphrase", "paper").read_text(encoding="utf-8")
    variant = re.sub(r'(?m)^name = ".*"$', 'name = "mine"', text).replace("{event}", "{event}\nIn Welsh, please.")
    (tmp_path / "mine/paraphrase.toml").write_text(variant, encoding="utf-8")
    with ScriptedServer(answer) as server:
        prepare_events(job(server.url, prompts_path=tmp_path / "mine", inside=0, outside=0)).run(live=LIVE)
        assert all("In Welsh, please." in str(r["messages"]) for r in server.requests) and server.requests


def test_a_job_that_asks_nobody_needs_no_price(job: Any) -> None:
    nobody = job(paraphrase=False, inside=0, outside=0, access={"max_cost": 1.0})
    assert not prepare_events(nobody).asks
    with pytest.raises(UserError, match="needs a price"):
        prepare_events(job(paraphrase=False, access={"max_cost": 1.0}))


# The funnel of a store of events is that of the run that filled it.
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
