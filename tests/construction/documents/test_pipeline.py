"""The funnel of a store of probes is that of the run that filled it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
from construction.documents.pipeline import ProbeConstruction, ProbeJob, prepare_probes
from construction.documents.steps import FILES
from construction.llm.endpoint import Access
from construction.llm.step import Request
from construction.pipeline.runner import ProgressDisplay
from curation.rules.rule import DocumentRule
from curation.rules.selection import SelectionStream
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.documents.document import Document, DocumentProbe
from schemas.lineage import Lineage
from schemas.verdicts import Verdict, verdict_key
from tests.support.construction.probe_author import answer, documents, write
from tests.support.construction.scripted_client import client_of
from tests.support.construction.stored import contents
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import document_records, document_store
from tests.support.facts import SOURCE
from tests.support.scripted_server import ScriptedServer

ACCESS = Access(model="local")
JOB = ProbeJob(source=Path("d"), store=Path("s"), access=ACCESS, fewest=5, most=8)
DOCUMENTS = [Document.model_validate({"key": f"d/{n}", "source": SOURCE, **d}) for n, d in enumerate(documents(5))]


def author(request: Request) -> str:
    return write(request.messages[-1].content)


def construct(
    path: Path, answer: Callable[[Request], Any] = author, job: ProbeJob = JOB, *, read_back: bool = False
) -> tuple[ProbeFunnel, Any]:
    client, funnel = client_of(answer), ProbeFunnel()
    with Store.open(path, create=True) as store:
        work = ProbeConstruction(job, FILES.load_all("paper"), DOCUMENTS, funnel)
        asyncio.run(work.write(store, [client] * (2 if read_back else 1), funnel))
        funnel.count(store, calls=client.calls)
    return funnel, client


def test_everything_is_stored_with_its_lineage_and_counted(tmp_path: Path) -> None:
    counts, client = construct(tmp_path / "s.duckdb")
    records, verdicts, lineage = contents(tmp_path / "s.duckdb")
    stored, probes = records["document"], records["document_probe"]
    assert counts.n["documents"] == len(stored) == 5 and client.calls == counts.n["calls"] == 5
    assert len(probes) == counts.written == counts.kept + counts.n["unsure"] + counts.n["dropped"]
    assert counts.n["kept_1"] == 5 and counts.n["kept_2"] == 10 and counts.n["unsure"] == 5  # "yes" stands nowhere
    assert {i for i, *_ in lineage} == {id for _, id in (*stored, *probes)}
    lost = {(stage, reason): n for stage, reason, n in counts.losses()}
    assert lost["checks", "unsure by tag_known"] == 5  # the tag Weather
    dropped = lost["checks", "drop by one_blank"] + lost.get(("checks", "drop by probe_stands_alone"), 0)
    assert counts.n["dropped"] == dropped
    assert len(verdicts) > 7 * counts.written


def test_a_read_back_drops_what_is_known_without_the_document(tmp_path: Path) -> None:
    def knows(request: Request) -> str:
        user = request.messages[-1].content
        return json.dumps({"answer": "Ada Brun0"}) if "Question: Who planned the Orla0" in user else author(request)

    counts, client = construct(tmp_path / "s.duckdb", knows, read_back=True)
    lost = {(stage, reason): n for stage, reason, n in counts.losses()}
    assert lost["reader", "drop by answered_without"] == 1
    assert lost["reader", "drop by answered_from_document"] == 4 + 5 + 5  # not found: planned, design, woman
    assert client.calls == 5 + 2 * (counts.written - lost["checks", "drop by one_blank"] - lost.get(
        ("checks", "drop by probe_stands_alone"), 0))  # fmt: skip
    with Store.open(tmp_path / "s.duckdb") as store:
        assert sum(line.stage == "verify" for line in store.lineages()) == client.calls - 5


def test_samples_are_put_together(tmp_path: Path) -> None:
    def samples(request: Request) -> str:
        (year,) = [w for w in request.messages[-1].content.split() if w.startswith("19")][:1]
        probes = [{"query": f"Was {year} number {request.sample}?", "answer": "so", "level": 2, "tags": []}]
        return json.dumps({"probes": probes})

    counts, client = construct(tmp_path / "s.duckdb", samples, JOB.model_copy(update={"samples": 3}))
    assert counts.written == 15 and client.calls == 15


def test_what_has_no_answer_is_finished_by_a_later_run(tmp_path: Path) -> None:
    def away(request: Request) -> str | None:
        return None if "Orla3" in request.messages[-1].content else author(request)

    whole, _ = construct(tmp_path / "whole.duckdb")
    first, _ = construct(tmp_path / "s.duckdb", away)
    assert first.n["unfinished"] == 1 and first.n["documents"] == 4
    second, _ = construct(tmp_path / "s.duckdb")
    assert second.n["unfinished"] == 0 and contents(tmp_path / "s.duckdb") == contents(tmp_path / "whole.duckdb")
    assert second.data() | {"calls": 5} == whole.data()


def test_a_reply_of_no_use_is_a_loss_and_not_an_end(tmp_path: Path) -> None:
    counts, _ = construct(tmp_path / "s.duckdb", lambda _: "no JSON")
    assert (counts.n["documents"], counts.n["bare"], counts.written) == (5, 5, 0)
    assert counts.losses() == [("probes", "unparseable reply", 5)]


def test_what_checks_do_not_keep_is_not_in_a_split(tmp_path: Path) -> None:
    counts, _ = construct(tmp_path / "s.duckdb")
    with Store.open(tmp_path / "s.duckdb") as store:
        cases = list(SelectionStream(store, DocumentRule()))
    assert sum(len(case.probes) for case in cases) == counts.kept and len(cases) == 5


LIVE = ProgressDisplay(0)


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """Makes a job over six documents."""
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f"{json.dumps(d)}\n" for d in documents(6)), encoding="utf-8")

    def make(url: str = "http://127.0.0.1:9/v1", *, access: dict[str, Any] | None = None, **changes: Any) -> ProbeJob:
        told = Access(model="m", base_url=url, **(access or {}))
        fields = {"source": path, "store": tmp_path / "s.duckdb", "fewest": 3, "most": 8, "access": told}
        return ProbeJob(**{**fields, **changes})

    return make


def test_another_model_reads(job: Any) -> None:
    with ScriptedServer(answer) as server:
        prepared = prepare_probes(job(server.url, reader_name=f"other@{server.url}"))
        assert prepared.estimate().calls == 6 + 6 * 2 * 5
        counts = prepared.run(live=LIVE)
        assert prepared.estimate().calls == 0, "all is cached"
        models = [request["model"] for request in server.requests]
    assert models.count("m") == 6 and models.count("other") == counts.n["calls"] - 6 > 0
    assert any(stage == "reader" for stage, _, _ in counts.losses())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"profile": "none"}, "no profile 'none'"),
        ({"access": {"max_cost": 1.0}}, "--max-cost needs a price"),
        ({"reader_name": "x@http"}, "--reader .x@http. names no model"),
        ({"source": Path("away.jsonl")}, "there is no such file"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_asked(
    job: Any, changes: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=said):
        prepare_probes(job(**changes))
    assert not (tmp_path / "s.duckdb").exists()


# The funnel of a store of probes is that of the run that filled it.
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
