"""A worker: the device that it sees, and a finished job on its way home."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from curation.case_sources.support import Support
from evaluation.engines.base import Job, JobResult
from evaluation.models.language_model import LM
from evaluation.runs.distributed.worker import Worker, load_model, pack_result, unpack_result
from schemas.answers import Answer
from schemas.cases import Case
from schemas.probes import ScoreProbe
from tests.evaluation.runs.distributed.test_ray_engine import config
from tests.support.facts import peru_fact
from tests.support.tiny import make


@pytest.mark.parametrize(("device", "here"), [("cuda:1", "cuda"), ("cuda", "cuda"), ("auto", "auto"), ("cpu", "cpu")])
def test_a_worker_sees_one_gpu_its_first(
    device: str, here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(LM, "load", lambda name, *, device, **more: asked.append(device))
    load_model(config(tmp_path, device=device))
    assert asked == [here]


def test_a_worker_adds_in_a_fixed_order_where_that_is_asked_for(tmp_path: Path) -> None:
    try:
        for wanted in (False, True):
            one = config(tmp_path, deterministic=wanted)
            worker = Worker(one, Support(), lambda _: make("llama"), tmp_path / "shard.jsonl")
            assert torch.are_deterministic_algorithms_enabled() is wanted
            assert worker.describe().environment["deterministic"] is wanted
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_finished_job_comes_home_as_it_was() -> None:
    """Through JSON, as in a shard."""
    probe = ScoreProbe(purpose="fact", item="f", prompt="Peru is", targets=("big",))
    job = Job("c/1", Case(key="c/1", fact=peru_fact()), (probe,))
    done = JobResult(job, [Answer(probe=probe.id, error="no")], {"loss": 0.5}, None, 1.5, 0.25, 1024)
    data = json.loads(json.dumps(pack_result(done, "identity")))
    assert data["identity"] == "identity" and data["asked"] == [probe.id] and data["case"] == job.case.id
    assert unpack_result(data, job) == done
