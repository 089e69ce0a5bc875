from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from construction.documents.pipeline import ProbeJob, prepare_probes
from construction.llm.endpoint import Access
from construction.pipeline.runner import ProgressDisplay
from schemas.core.errors import UserError
from tests.support.construction.probe_author import answer, documents
from tests.support.scripted_server import ScriptedServer

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
