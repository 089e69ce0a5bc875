"""The funnel of a store of probes is that of the run that filled it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from construction.documents.funnel import stored_probe_counts
from construction.documents.job import ProbeJob, prepare_probes, run_probes
from construction.llm.connection import Access
from curation.store.store import Store
from schemas.documents.document import DocumentProbe
from tests.construction.documents.test_job import LIVE
from tests.support.construction.probe_author import answer, documents
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import document_records
from tests.support.scripted_server import ScriptedServer

SAME = ("documents", "bare", "written_1", "written_2", "written_3", "kept_1", "kept_2", "kept_3", "unsure", "dropped",
        "calls", "losses")  # fmt: skip


def test_it_counts_what_the_run_counted_and_people_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-for-tests")
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f"{json.dumps(d)}\n" for d in documents(5)), encoding="utf-8")
    with ScriptedServer(answer) as server:
        access = Access(model="m", base_url=server.url)
        told = run_probes(prepare_probes(ProbeJob(source=path, store=tmp_path / "s.duckdb", access=access)), live=LIVE)
    counts = stored_probe_counts(tmp_path / "s.duckdb")
    assert counts is not None
    assert {n: getattr(counts, n) for n in SAME} == {n: getattr(told, n) for n in SAME}
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        held = next(p for p in store.all(DocumentProbe) if p.answer == "yes")
        kept = next(p for p in store.all(DocumentProbe) if p.level == 1 and p.blanks)
        store.put(
            [
                make_verdict(held.id, "keep", "person:ann/curate_probe@1"),
                make_verdict(kept.id, "drop", "person:ann/curate_probe@1"),
            ]
        )
    after = stored_probe_counts(tmp_path / "s.duckdb")
    assert after is not None and (after.kept_3, after.kept_1) == (counts.kept_3 + 1, counts.kept_1 - 1)
    assert ("checks", "drop by people (curate_probe)", 1) in [(x.stage, x.reason, x.count) for x in after.losses]


def test_what_came_from_a_file_is_no_construction(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(document_records())
    assert stored_probe_counts(tmp_path / "s.duckdb") is None
