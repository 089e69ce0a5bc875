"""The numbers of the paper, stated once: the command shows what the functions take."""

from __future__ import annotations

from construction.cli.construct_events import construct_events
from construction.events import defaults
from construction.events.job import EventJob
from construction.llm.connection import Access


def test_the_command_a_job_and_its_plan_begin_with_the_same_numbers() -> None:
    text = {p.name: p.default for p in construct_events.params}
    job = EventJob(templates=None, store="s.duckdb", access=Access())
    for name in ("events", "cap", "untouched", "events_per_topic", "inside", "outside", "threshold"):
        assert text[name] == getattr(job, name), name
    assert (job.cap, job.untouched, job.threshold) == (defaults.CAP, defaults.UNTOUCHED, defaults.THRESHOLD)
    assert (defaults.CAP, defaults.UNTOUCHED, defaults.THRESHOLD) == (300.0, 5, 0.4)
    assert (job.inside, job.threshold) == (defaults.INSIDE, defaults.THRESHOLD)
