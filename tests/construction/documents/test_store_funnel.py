"""The funnel of a store of probes is that of the run that filled it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from construction.cli.funnel import funnel
from construction.documents.funnel import (
    ProbeCuration,
    ProbeFunnel,
    first_version,
    probe_curation,
    stored_probes,
)
from construction.documents.pipeline import ProbeJob, prepare_probes
from construction.llm.endpoint import Access
from curation.store.store import Store
from schemas.documents.document import DocumentProbe
from schemas.lineage import Lineage
from schemas.verdicts import Verdict, verdict_key
from tests.construction.documents.test_job import LIVE
from tests.support.construction.probe_author import answer, documents
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import document_records, document_store
from tests.support.scripted_server import ScriptedServer

SAME = ("documents", "bare", "written_1", "written_2", "written_3", "kept_1", "kept_2", "kept_3", "unsure", "dropped",
        "calls")  # fmt: skip


def stored(folder: Path) -> ProbeFunnel | ProbeCuration | None:
    with Store.open(folder / "s.duckdb") as store:
        return stored_probes(store)


def test_it_counts_what_the_run_counted_and_people_after_it(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f"{json.dumps(d)}\n" for d in documents(5)), encoding="utf-8")
    with ScriptedServer(answer) as server:
        access = Access(model="m", base_url=server.url)
        told = prepare_probes(ProbeJob(source=path, store=tmp_path / "s.duckdb", access=access)).run(live=LIVE)
    counts = stored(tmp_path)
    assert isinstance(counts, ProbeFunnel)
    assert {n: counts.n[n] for n in SAME} == {n: told.n[n] for n in SAME} and counts.losses() == told.losses()
    assert "% (people in the paper: about 25 %)" in "\n".join(told.lines()) and told.lines(stored=True)[-1].endswith(
        "cached."
    )
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        held = next(p for p in store.all(DocumentProbe) if p.answer == "yes")
        kept = next(p for p in store.all(DocumentProbe) if p.level == 1 and p.blanks)
        store.put(
            [
                make_verdict(held.id, "keep", "person:ann/curate_probe@1"),
                make_verdict(kept.id, "drop", "person:ann/curate_probe@1"),
            ]
        )
    after = stored(tmp_path)
    assert isinstance(after, ProbeFunnel) and (after.n["kept_3"], after.n["kept_1"]) == (
        counts.n["kept_3"] + 1,
        counts.n["kept_1"] - 1,
    )
    assert ("checks", "drop by people (curate_probe)", 1) in after.losses()


def test_what_came_from_a_file_is_no_construction(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(document_records())
    assert stored(tmp_path) is None


def test_nothing_is_a_funnel_too() -> None:
    assert "probes written                   0\n" in "\n".join(ProbeFunnel().lines())


BY = "person:ann/curate_probe@1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


def correct(store: Store, probe: DocumentProbe, level: int, *, by: str = BY, day: int = 1) -> DocumentProbe:
    """A person's correction as an import writes it."""
    new = probe.model_copy(update={"level": level})
    store.put(
        [make_verdict(probe.id, "unsure", by), new, make_verdict(new.id, "keep", by)],
        [
            Lineage(
                item_id=new.id, stage="annotation", made_at=f"2026-01-0{day}T00:00:00Z", parents=(probe.id,), detail={}
            )
        ],
    )
    return new


def approved(item: str, value: float, by: str = "person:bo/review_level_approved@1") -> Verdict:
    return Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label=None, value=value, unit="yes")


def test_nobody_did_anything(store: Store) -> None:
    assert probe_curation(store) is None
    store.put([make_verdict(next(iter(store.all(DocumentProbe))).id, "drop", "one_blank@1")])
    assert probe_curation(store) is None


def test_counts_over_versions(store: Store) -> None:
    first, second, third, fourth, fifth = store.all(DocumentProbe)
    store.put([make_verdict(first.id, "drop", BY), make_verdict(second.id, "keep", BY)])
    new = correct(store, third, 3 if third.level != 3 else 2)
    there = correct(store, fourth, 3 if fourth.level != 3 else 2)
    back = correct(store, there, fourth.level or 1, by="person:bo/review_level@1", day=2)
    assert back == fourth, "a correction can lead back"
    store.put([approved(second.id, 1.0), approved(new.id, 1.0), approved(back.id, 0.0)])
    assert first_version(store, back) == fourth and first_version(store, fifth) == fifth
    counts = probe_curation(store)
    assert counts is not None and counts.n == dict(curated=4, dropped=1, relevelled=1, reviewed=3, approved=2)


def test_a_leads_decision_outranks_peoples_drop(store: Store) -> None:
    first, *_ = store.all(DocumentProbe)
    store.put([make_verdict(first.id, "drop", BY)])
    store.put([make_verdict(first.id, "keep", "person:lea/curate_probe_adjudicated@1")])
    counts = probe_curation(store)
    assert counts is not None and (counts.n["curated"], counts.n["dropped"]) == (1, 0)


def test_the_command_says_it_beside_the_paper(store: Store, tmp_path: Path) -> None:
    first, second, *_ = store.all(DocumentProbe)
    store.put([make_verdict(first.id, "drop", BY), make_verdict(second.id, "keep", BY), approved(second.id, 1.0)])
    store.close()
    result = CliRunner().invoke(funnel, ["--store", str(tmp_path / "s.duckdb")])
    assert result.exit_code == 0, result.output
    assert "dropped                        1  50.0 % of 2 probes (in the paper: about 25 %)" in result.output
    assert "0.0 % of 1 probe (in the paper: about 40 %)" in result.output and "about 91 %" in result.output
