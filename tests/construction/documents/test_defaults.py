"""The numbers, stated once: the command shows what the functions take."""

from __future__ import annotations

from construction.cli.construct_documents import construct_documents
from construction.documents import defaults
from construction.documents.job import ProbeJob
from construction.llm.connection import Access


def test_the_command_a_job_and_its_plan_begin_with_the_same_numbers() -> None:
    shown = {p.name: p.default for p in construct_documents.params}
    job = ProbeJob(source="d.jsonl", store="s.duckdb", access=Access())
    for name in ("fewest", "most", "samples"):
        assert shown[name] == getattr(job, name), name
    assert (job.fewest, job.most) == (defaults.FEWEST, defaults.MOST) == (10, 20)
