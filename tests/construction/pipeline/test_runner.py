"""One construction from the outside: what is opened, shown, copied and kept when it ends well, badly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from construction.llm.cost.budget import Amount, Budget
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.author_models import ScriptAuthor
from construction.pipeline.job import ConstructionJob, PreparedJob
from construction.pipeline.plan import ConstructionPlan, plan_work
from construction.pipeline.runner import ConstructionProgress, ProgressDisplay, WritingJob
from curation.files.journal import Journal
from curation.loaders.base import LoadResult
from curation.store.store import Store
from schemas.core.errors import ModelError, UserError
from schemas.scripts import ScriptPrompt
from schemas.text.status_line import StatusLine
from tests.support.facts import make_fact
from tests.support.scripted_server import Raw, ScriptedServer, author, completion

EDITS = [make_fact("Peru", "Lima", "Oslo"), make_fact("Japan", "Tokyo", "Rome")]


@pytest.fixture
def construct(tmp_path):
    """Runs a session over two facts; gives the counts and what was shown."""

    def go(url, *, edits=EDITS, questions=1, live=None, access=None, authors=(), reader=None):
        paths = {"store": tmp_path / "s.duckdb", "journal_path": tmp_path / "j"}
        job = ConstructionJob(facts="given", access=Access(model="m", base_url=url, **(access or {})), **paths)
        plan = ConstructionPlan(questions=questions, neighbours=0, batch=1)
        shown = []
        live = live or ProgressDisplay(0, line=StatusLine(shown.append, terminal=False, every=30.0, at_once=False))
        work = plan_work(edits, edits, plan)
        authors = authors or (ScriptAuthor(job.access, plan.profile),)
        prepared = PreparedJob(plan, work, job, authors, reader, LoadResult(tuple(edits), (), "given"))
        return prepared.run(live=live), "".join(shown)

    go.folder = tmp_path
    return go


def prompts(path):
    with Store.open(path) as store:
        return len(list(store.all(ScriptPrompt)))


def test_the_end_is_told_in_one_line_and_both_files_are_free_again(construct):
    with ScriptedServer() as server:
        counts, lines = construct(server.url, questions=4)
        repeat, _ = construct(server.url, questions=4)
    assert (counts.calls, repeat.calls, counts.unfinished) == (6, 0, 0)
    assert lines.count("\n") == 1 and lines.startswith("2/2 facts") and "6 of about 6 answers" in lines
    assert prompts(construct.folder / "s.duckdb") == counts.kept > 0


@pytest.mark.parametrize("person", ["author", "reader"])
def test_attempts_hold_for_authors_and_readers(construct, person):
    def answer(payload):
        return Raw(body=completion(None, refusal="no")) if payload["model"] == "other" else author(payload)

    with ScriptedServer(answer) as server:
        other = ScriptAuthor(Access(model="other", base_url=server.url), "paper")
        options = {"authors": (other,)} if person == "author" else {"reader": other}
        construct(server.url, edits=EDITS[:1], access={"attempts": 3}, **options)
        assert sum(p["model"] == "other" for p in server.requests) % 3 == 0 < len(server.requests)


def test_the_display_ends_and_what_is_finished_stays_when_the_endpoint_goes(construct):
    exits = []

    class Noted(ProgressDisplay):
        def end(self, budget):
            exits.append(budget.activity.answers)
            super().end(budget)

    def answer(payload):
        is_japan = "Japan" in payload["messages"][-1]["content"]
        return Raw(401, {"error": {"message": "revoked"}}) if is_japan else author(payload)

    live = Noted(0)
    with ScriptedServer(answer) as server, pytest.raises(ModelError, match="refuses the key"):
        construct(server.url, live=live, access={"concurrency": 1})
    assert len(exits) == 1
    with ScriptedServer() as server:
        counts, _ = construct(server.url)
        assert len(server.requests) < 4, "what was answered is not asked again"
    assert counts.done == 2


def test_two_sessions_on_one_journal_are_refused_and_the_store_is_not_made(construct):
    with Journal(construct.folder / "j", write=True), pytest.raises(UserError, match="another process is writing"):
        construct("http://127.0.0.1:9/v1")
    assert not (construct.folder / "s.duckdb").exists()


@pytest.mark.parametrize(
    ("access", "batch"),
    [
        ({"model": "m", "base_url": "http://127.0.0.1:9/v1"}, 20),
        ({"model": "m", "base_url": "http://127.0.0.1:9/v1", "batch": True}, 1_000_000),
        ({"model": "embedded"}, 2),
    ],
)
def test_a_writing_job_knows_its_journal_and_how_much_is_under_way(access, batch):
    job = WritingJob(store=Path("a/s.duckdb"), access=Access(**access))
    assert (job.journal, job.batch) == (Path("a/s.duckdb.llm.jsonl"), batch)
    assert job.model_copy(update={"journal_path": Path("mine.jsonl")}).journal == Path("mine.jsonl")


@pytest.fixture
def now(monkeypatch):
    seconds = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: seconds[0])
    return seconds


@pytest.fixture
def budget():
    return Budget(ReplyCache(None), max_cost=5.0)


def test_all_that_holds_the_work_up_is_told(budget, now):
    live = ProgressDisplay(100)
    live.facts(ConstructionProgress(done=70, total=1000, kept=207, calls=9))
    budget.activity.asks()
    for failed in (False, True, False):
        budget.activity.answered(from_endpoint=True, failed=failed)
    budget.activity.waiting, budget.activity.repeated = 3, 9
    budget.now = Amount(1000, 200, 0.42)
    live.watch(lambda: ["m pauses 42 s", "batch: 3/9"])
    now[0] += 60
    assert live.text(budget) == (
        "m pauses 42 s, batch: 3/9, 70/1,000 facts, 207 questions kept, 3 of about 100 answers, 3 calls/min, "
        "$0.4200 of $5 and 1,200 tokens spent, 32 min left, 1 failed, 3 waiting to be asked again, "
        "9 asked again after a passing fault"
    )


def test_more_answers_than_expected_are_no_negative_time(budget, now):
    live = ProgressDisplay(1)
    budget.activity.asks()
    now[0] += 5
    for _ in range(3):
        budget.activity.answered(from_endpoint=True)
    assert "3 of about 3 answers, 36 calls/min" in live.text(budget) and "left" not in live.text(budget)


@pytest.mark.parametrize(("from_endpoint", "seconds"), [(False, 60.0), (True, 0.0), (True, -500.0)])
def test_answers_of_the_journal_of_one_moment_or_of_a_clock_that_steps_back_have_no_rate(
    budget, now, from_endpoint, seconds
):
    budget.activity.asks()
    now[0] += seconds
    for _ in range(3):
        budget.activity.answered(from_endpoint=from_endpoint)
    assert budget.activity.rate() is None and budget.activity.answers == 3
