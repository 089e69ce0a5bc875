"""Cases spread over Ray workers: the same result as one process, also when a worker is killed."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from curation.case_sources.support import Support
from curation.files.artifact_cache import Cache
from curation.splits.split_file import write_split
from evaluation.editors import EDITORS
from evaluation.editors.presets import make_editor
from evaluation.engines.base import Job, JobResult
from evaluation.engines.environment import environment
from evaluation.engines.fast import GROUP, FastEngine
from evaluation.metrics.generation import Generation, load_metrics
from evaluation.models.language_model import LM
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import RunConfig
from evaluation.runs.distributed.ray_engine import RayEngine
from evaluation.runs.distributed.remote_model import (
    ModelDescription,
    RemoteModel,
    remote_editor,
    remote_scorer,
    weightless,
)
from evaluation.runs.distributed.worker import (
    Worker,
    WorkerTask,
    load_model,
    pack_result,
    shard_identity,
    unpack_result,
)
from evaluation.runs.plan import ask, plain_params
from evaluation.runs.runner import EditorOutcome, execute
from schemas.answers import Answer
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import ScoreProbe
from tests.contracts.test_editors import editor
from tests.evaluation.engines.test_fast import OPTIONS, same, split
from tests.support import ROOT
from tests.support.arithmetic import make_cases
from tests.support.evaluation.tiny_runs import run_tiny, saved
from tests.support.facts import peru_fact
from tests.support.tiny import make


def tiny(config: RunConfig) -> Any:
    return make("llama")


def config(out: Path, **more: Any) -> RunConfig:
    editors = [{"name": "rome", "params": OPTIONS["rome"]}]
    engine = {"name": "ray", "workers": 2, "group": 1}
    engine |= {name: more.pop(name) for name in ("workers", "address", "group") if name in more}
    data: dict[str, Any] = {"split": "mini", "editors": editors, "out": str(out), "engine": engine}
    data |= {"metrics": ["es", "s_es", "s_es_gen"], "generation": {"step_tokens": 4}}  # texts come home too
    return RunConfig.model_validate({**data, **more})


def go(wanted: RunConfig, engine: Any) -> dict[str, EditorOutcome]:
    return {outcome.label: outcome for outcome in run_tiny(wanted, split(), make("llama"), engine=engine)}


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_two_workers_of_which_one_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    import ray

    root = str(ROOT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    whole = go(config(tmp_path / "one"), FastEngine(make("llama"), group=1))
    wanted = config(tmp_path / "two")
    with RayEngine(wanted, support=Support(), lm=make("llama"), load=tiny) as engine:
        first, _ = engine._workers(2)
        engine.report_every = 5.0
        process, revision = ray.get(first.identity.remote())
        assert revision == "tiny-llama-1"
        killed: list[int] = []
        real = engine.work

        def work(editor: Any, jobs: Any) -> Any:
            for done in real(editor, jobs):
                if not killed and editor.name == "rome":
                    killed.append(process)
                    os.kill(process, signal.SIGKILL)
                yield done

        monkeypatch.setattr(engine, "work", work)
        spread = go(wanted, engine)
        assert killed and engine._number == 3, "a third worker took the killed one's place"
    for label in ("none", "rome"):
        assert spread[label].computed == 5 and spread[label].failed == 0
        same(whole[label], spread[label], within=0.0)
        notes = [{k: r.notes for k, r in o[label].folder.results().items()} for o in (whole, spread)]
        assert notes[0] == notes[1]


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_lost_node_does_not_hang_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """Of two nodes with a place each one is removed: the live worker does all cases; without any, the run ends."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]

    def remove_node() -> None:
        """Remove one, and wait until Ray knows: until then it may start a worker there."""
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        while sum(node["Alive"] for node in ray.nodes()) > 1 + len(nodes):
            time.sleep(0.1)

    whole = go(config(tmp_path / "one"), FastEngine(make("llama"), group=1))
    try:
        wanted = config(tmp_path / "two", address=cluster.address)
        with RayEngine(wanted, support=Support(), lm=make("llama"), load=tiny) as engine:
            ray.get([worker.identity.remote() for worker in engine._workers(2)])  # both have their models
            monkeypatch.setattr(engine, "report_every", 2.0)
            real = engine.work

            def work(editor: Any, jobs: Any) -> Any:
                for done in real(editor, jobs):
                    if len(nodes) == 2 and editor.name == "rome":
                        remove_node()
                    yield done

            monkeypatch.setattr(engine, "work", work)
            spread = go(wanted, engine)
            assert len(nodes) == 1 and spread["rome"].computed == 5 and not spread["rome"].failed
            same(whole["rome"], spread["rome"], within=0.0)
            remove_node()
            monkeypatch.setattr(engine, "give_up_after", 6.0)
            with pytest.raises(UserError, match="no worker of the cluster started within .*the same command resumes"):
                go(wanted.model_copy(update={"out": tmp_path / "three", "metrics": ("es", "ps")}), engine)
        assert any("no worker is alive" in r.getMessage() for r in caplog.records)
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_processes_of_its_own_unless_an_address_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address Ray would join whatever cluster runs on this machine, and refuse the number of workers."""
    ray = pytest.importorskip("ray")
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: calls.append(options))
    monkeypatch.setattr(ray, "shutdown", lambda: None)

    def options_of(**more: Any) -> dict[str, Any]:
        with RayEngine(config(tmp_path, **more), support=Support(), lm=make("llama")):
            return calls.pop()

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert (options_of()["address"], options_of()["num_cpus"]) == ("local", 2)
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    joined = options_of()
    assert joined["address"] == "ray://head:10001" and "num_cpus" not in joined, "Ray's own variable counts"
    assert options_of(address="ray://other:10001")["address"] == "ray://other:10001", "the run's address comes first"


def written(out: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[RayEngine, dict[str, Job], Any]:
    """An engine of a folder in which a worker has done the first two cases of ``ft``, without Ray."""
    monkeypatch.setenv("SCEDIT_CACHE", str(out / "cache"))
    wanted, lm = config(out), make("llama")
    engine = RayEngine(wanted, support=Support(), lm=lm, load=tiny)
    options = {"layer": 1, "steps": 1, "lr": 1e-3}
    cases = split().cases[:2]
    jobs = {c.key: Job(c.key, c, ask(c, load_metrics(["es", "s_es"], Generation()))) for c in cases}
    engine.folder.mkdir(parents=True)
    editor = make_editor("ft", lm, Cache(out / "cache"), options)
    worker = Worker(wanted, Support(), tiny, engine.folder / "1.jsonl")
    worker.work(WorkerTask("ft", plain_params(editor), tuple((j.key, j.case, j.probes) for j in jobs.values())))
    return engine, jobs, editor


def test_no_worker_is_started_where_the_shards_hold_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would load the model and have nothing to do."""
    pytest.importorskip("ray")
    engine, jobs, editor = written(tmp_path, monkeypatch)

    def start() -> None:
        raise AssertionError("a worker is started")

    monkeypatch.setattr(engine, "_start", start)
    assert {done.job.key for done in engine.work(editor, list(jobs.values()))} == set(jobs)
    assert list(engine.work(editor, [])) == []


def test_shards_of_another_attention_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, jobs, editor = written(tmp_path, monkeypatch)
    assert engine.lm is not None
    engine.lm.other_attention = "eager"
    assert engine._from_shards(engine._identity(editor), jobs) == []


def test_shards_are_taken_by_the_run_that_wrote_them_and_by_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another model, support or edit under the same key must not be given the first one's answers."""
    engine, jobs, editor = written(tmp_path, monkeypatch)
    mine = engine._identity(editor)
    assert {d.job.key for d in engine._from_shards(mine, jobs)} == set(jobs)
    (key, job), *_ = jobs.items()
    other = job.case.model_copy(update={"fact": job.case.fact.model_copy(update={"subject": job.case.fact.old})})
    assert engine._from_shards(mine, {key: job._replace(case=other)}) == []
    assert engine._from_shards(mine, {key: job._replace(probes=job.probes[:1])}) == []
    second = make("llama")
    second.revision = "tiny-llama-2"
    engine.lm = second
    assert engine._from_shards(engine._identity(editor), jobs) == []
    engine.lm = make("llama")
    engine.config = engine.config.model_copy(update={"dtype": "bfloat16"})
    assert engine._from_shards(engine._identity(editor), jobs) == []
    engine.config = config(tmp_path)
    editor.params = editor.params.model_copy(update={"steps": 2})
    assert engine._from_shards(engine._identity(editor), jobs) == []


def test_groups_and_workers_follow_the_gpus_of_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    lm = make("llama")

    def engine(**more: Any) -> RayEngine:
        return RayEngine(config(tmp_path, **more), support=Support(), lm=lm)

    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 64.0, "GPU": 4.0})
    assert (engine(workers=None)._room(), engine(workers=None)._group()) == (4, GROUP["cuda"])
    assert engine(workers=2)._room() == 2, "workers are respected where there are GPUs"
    assert engine(workers=9)._room() == 4, "no worker without a GPU"
    on_cpu = engine(workers=None, device="cpu")
    assert (on_cpu._room(), on_cpu._group()) == (64, GROUP["cpu"]), "GPUs do not count for a run on the CPU"
    one, calls = engine(workers=None), []
    monkeypatch.setattr(ray, "cluster_resources", lambda: calls.append(1) or {"CPU": 8.0, "GPU": 1.0})
    assert [one._room(), one._group(), one._gpus(), one._room()] == [1, GROUP["cuda"], 1, 1] and calls == [1]
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 8.0})
    assert (engine(workers=None)._room(), engine(workers=None)._group()) == (8, GROUP["cpu"])
    assert engine(workers=16)._room() == 16


def test_regimes_in_which_edits_build_on_each_other_are_refused(tmp_path: Path) -> None:
    """By the configuration, before anything is loaded; and by the engine, for a configuration made another way."""
    batch = {"name": "batch", "size": 2}
    with pytest.raises(ValidationError, match="edits build on each other"):
        config(tmp_path, regime=batch)
    unchecked = config(tmp_path).model_copy(update={"regime": RegimeChoice.model_validate(batch)})
    with pytest.raises(UserError, match="edits build on each other"):
        RayEngine(unchecked, support=Support(), lm=make("llama"))


def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    import ray

    def silent(**more: Any) -> None:
        raise ConnectionError(f"no answer from {more['address']}")

    monkeypatch.setattr(ray, "init", silent)
    engine = RayEngine(config(tmp_path, address="ray://nowhere:10001"), support=Support(), lm=make("llama"))
    with pytest.raises(UserError, match="ray://nowhere:10001: no Ray cluster can be reached: no answer"), engine:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model's files."""
    return saved(make("llama", max_position_embeddings=512), tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def whole(folder: Path) -> LM:
    """The model with its weights."""
    return LM.load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def told(whole: LM) -> ModelDescription:
    """What a worker tells of it."""
    return ModelDescription(whole.name, whole.revision, whole.layout, environment("cpu", weights=whole.model))


def test_no_weights_but_all_else(whole: LM, told: ModelDescription) -> None:
    lm = weightless(told, dtype="float32")
    assert {p.device.type for p in lm.model.parameters()} == {"meta"}
    assert (lm.name, lm.revision, lm.layout, lm.limit) == (whole.name, whole.revision, whole.layout, whole.limit)
    assert lm.dtype == whole.dtype and lm.encode("Peru is", "big") == whole.encode("Peru is", "big")


def test_this_machines_files_are_compared(told: ModelDescription, tmp_path: Path) -> None:
    """The revision is that of the files here, so a worker with other ones is noticed."""
    other = make("llama", max_position_embeddings=512)
    other.model.lm_head.weight.data[0, 0] += 1
    assert weightless(told._replace(name=str(saved(other, tmp_path))), dtype="float32").revision != told.revision


@pytest.mark.parametrize("method", EDITORS.names())
def test_a_method_has_the_same_identity_with_and_without_weights(
    method: str, whole: LM, told: ModelDescription, tmp_path: Path
) -> None:
    made = editor(method, whole, tmp_path, steps=2)
    far = remote_editor(weightless(told, dtype="float32"), Cache(tmp_path / "far"), method, plain_params(made))
    revision = {"revision": whole.revision, "dtype": "float32", "support": Support()}
    assert shard_identity(far, **revision) == shard_identity(made, **revision)
    far.prepare(())  # workers do


def test_a_workers_device_is_what_the_run_records(told: ModelDescription) -> None:
    elsewhere = {**told.environment, "device": "cuda:0"}
    scorer = remote_scorer(RemoteModel(weightless(told, dtype="float32"), elsewhere))
    assert (scorer.device, scorer.name, scorer.revision) == ("cuda:0", told.name, told.revision)


def test_a_worker_describes_its_model(folder: Path, told: ModelDescription, tmp_path: Path) -> None:
    config = RunConfig.model_validate(
        {"split": "mini", "editors": ["none"], "out": str(tmp_path), "model": str(folder)}
    )
    worker = Worker(config, Support(), lambda c: LM.load(c.model, device="cpu"), tmp_path / "1.jsonl")
    described = worker.describe()
    assert described.revision == told.revision and described.environment["device"] == "cpu"


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_the_process_that_hands_out_loads_no_model_and_leaves_another_cluster_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker on this machine beside somebody's cluster; answers are those of one process, to the bit."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    write_split(make_cases(4, 1), tmp_path / "split.jsonl")

    def rome(out: str, **engine: Any) -> EditorOutcome:
        data = {"split": {"file": str(tmp_path / "split.jsonl")}, "model": str(folder), "device": "cpu"}
        data |= {"editors": [{"name": "rome", "params": OPTIONS["rome"]}], "metrics": ["es", "s_es"]}
        data |= {"out": str(tmp_path / out), "engine": {"group": 1, **engine}}
        return next(o for o in execute(RunConfig.model_validate(data)) if o.label == "rome")

    def refused(*args: Any, **more: Any) -> LM:
        raise AssertionError("the process that hands out work loads no model")

    alone, joined, real = rome("alone", name="fast"), [], RayEngine._workers

    def watched(self: RayEngine, tasks: int) -> list[Any]:
        joined.append(ray.get_runtime_context().gcs_address)
        return real(self, tasks)

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        monkeypatch.setattr(RayEngine, "_workers", watched)
        monkeypatch.setattr(LM, "load", refused)
        spread = rome("spread", name="ray", workers=1)
        assert joined and cluster.address not in joined
        ray.init(address=cluster.address, log_to_driver=False)
        assert ray.cluster_resources()["CPU"] == 1, "it still runs"
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert alone.manifest.key == spread.manifest.key and spread.computed == 5 and not spread.failed
    results = [o.folder.results() for o in (alone, spread)]
    assert {k: r.answers for k, r in results[0].items()} == {k: r.answers for k, r in results[1].items()}


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
