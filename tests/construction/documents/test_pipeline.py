from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from construction.documents.funnel import ProbeFunnel
from construction.documents.pipeline import ProbeConstruction, ProbeJob
from construction.documents.steps import FILES
from construction.llm.endpoint import Access
from construction.llm.step import Request
from curation.rules.rule import DocumentRule
from curation.rules.selection import SelectionStream
from curation.store.store import Store
from schemas.documents.document import Document
from tests.support.construction.probe_author import documents, write
from tests.support.construction.scripted_client import client_of
from tests.support.construction.stored import contents
from tests.support.facts import SOURCE

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
