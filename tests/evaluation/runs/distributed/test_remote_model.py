"""The process that hands out work has no weights, and names the same work as one that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.support import Support
from curation.files.artifact_cache import Cache
from curation.splits.split_file import write_split
from evaluation.editors import EDITORS
from evaluation.engines.environment import environment
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.distributed.ray_engine import RayEngine
from evaluation.runs.distributed.remote_model import (
    ModelDescription,
    RemoteModel,
    remote_editor,
    remote_scorer,
    weightless,
)
from evaluation.runs.distributed.worker import Worker, shard_identity
from evaluation.runs.plan import plain_params
from evaluation.runs.runner import execute
from tests.contracts.test_editors import editor
from tests.evaluation.engines.test_fast import OPTIONS
from tests.support import ROOT
from tests.support.arithmetic import make_cases
from tests.support.tiny import make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model's files."""
    out, lm = tmp_path_factory.mktemp("model"), make("llama", max_position_embeddings=512)
    lm.model.save_pretrained(out)
    lm.tokenizer.save_pretrained(out)
    return out


def description(folder: Path) -> ModelDescription:
    lm = LM.load(str(folder), device="cpu")
    return ModelDescription(lm.name, lm.revision, lm.layout, environment("cpu", weights=lm.model))


def test_no_weights_but_all_else(folder: Path) -> None:
    told, whole = description(folder), LM.load(str(folder), device="cpu")
    lm = weightless(told, dtype="float32")
    assert {p.device.type for p in lm.model.parameters()} == {"meta"}
    assert (lm.name, lm.revision, lm.layout, lm.limit) == (whole.name, whole.revision, whole.layout, whole.limit)
    assert lm.dtype == whole.dtype and lm.encode("Peru is", "big") == whole.encode("Peru is", "big")


def test_this_machines_files_are_compared(folder: Path, tmp_path: Path) -> None:
    """The revision is that of the files here, so a worker with other ones is noticed."""
    other = make("llama", max_position_embeddings=512)
    other.model.lm_head.weight.data[0, 0] += 1
    other.model.save_pretrained(tmp_path)
    other.tokenizer.save_pretrained(tmp_path)
    told = description(folder)._replace(name=str(tmp_path))
    assert weightless(told, dtype="float32").revision != told.revision


@pytest.mark.parametrize("method", EDITORS.names())
def test_a_method_has_the_same_identity_with_and_without_weights(method: str, folder: Path, tmp_path: Path) -> None:
    whole = LM.load(str(folder), device="cpu")
    made = editor(method, whole, tmp_path, steps=2)
    far = remote_editor(
        weightless(description(folder), dtype="float32"), Cache(tmp_path / "far"), method, plain_params(made)
    )
    revision = {"revision": whole.revision, "dtype": "float32", "support": Support()}
    assert shard_identity(far, **revision) == shard_identity(made, **revision)
    far.prepare(())  # workers do


def test_a_workers_device_is_what_the_run_records(folder: Path) -> None:
    told = description(folder)
    told = told._replace(environment={**told.environment, "device": "cuda:0"})
    scorer = remote_scorer(RemoteModel(weightless(told, dtype="float32"), told.environment))
    assert (scorer.device, scorer.name, scorer.revision) == ("cuda:0", told.name, told.revision)


def test_a_worker_describes_its_model(folder: Path, tmp_path: Path) -> None:
    config = RunConfig.model_validate(
        {"split": "mini", "editors": ["none"], "out": str(tmp_path), "model": str(folder)}
    )
    worker = Worker(config, Support(), lambda c: LM.load(c.model, device="cpu"), tmp_path / "1.jsonl")
    told = worker.describe()
    assert told.revision == description(folder).revision and told.environment["device"] == "cpu"


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_two_nodes_and_no_model_in_the_process_that_hands_out(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes' processes on this machine; answers are those of one process, to the bit."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    write_split(make_cases(4, 1), tmp_path / "split.jsonl")

    def config(out: str, **more: Any) -> RunConfig:
        data = {"split": {"file": str(tmp_path / "split.jsonl")}, "model": str(folder), "device": "cpu"}
        data |= {"editors": [{"name": "rome", "params": OPTIONS["rome"]}], "metrics": ["es", "s_es"]}
        return RunConfig.model_validate(data | {"out": str(tmp_path / out)} | more)

    (alone,) = [o for o in execute(config("alone", engine={"name": "fast", "group": 1})) if o.label == "rome"]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes: list[set[str]] = []
    real = RayEngine._workers

    def watched(self: RayEngine, tasks: int) -> list[Any]:
        actors = real(self, tasks)
        where = [a.__ray_call__.remote(lambda worker: ray.get_runtime_context().get_node_id()) for a in actors]
        nodes.append(set(ray.get(where)))
        return actors

    def refused(*args: Any, **more: Any) -> LM:
        raise AssertionError("the process that hands out work loads no model")

    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        monkeypatch.setattr(RayEngine, "_workers", watched)
        monkeypatch.setattr(LM, "load", refused)
        (spread,) = [
            o
            for o in execute(config("spread", engine={"name": "ray", "address": cluster.address, "group": 1}))
            if o.label == "rome"
        ]
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert max(map(len, nodes)) == 2, "a worker on each node"
    assert alone.manifest.key == spread.manifest.key and spread.computed == 5 and not spread.failed
    results = [o.folder.results() for o in (alone, spread)]
    assert {k: r.answers for k, r in results[0].items()} == {k: r.answers for k, r in results[1].items()}
