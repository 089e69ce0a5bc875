from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from construction.events.pipeline import EventJob, prepare_events
from construction.events.steps import FILES
from construction.llm.endpoint import Access
from construction.pipeline.runner import ProgressDisplay
from schemas.core.errors import UserError
from tests.support.construction.event_author import answer
from tests.support.construction.event_templates import sources
from tests.support.scripted_server import ScriptedServer

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
