"""Cases spread over processes, devices and machines by Ray: each worker holds the model and writes a journal shard.

Workers take groups of cases. What a worker has finished stands in its shard before it is handed over, so when a worker
is lost only its unfinished cases are done again, by a new one; when the run itself was killed, shards are read first.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.files.journal import Journal
from evaluation.engines.base import Job, JobResult
from evaluation.engines.fast import GROUP, FastEngine
from evaluation.engines.protocols import EditorLike
from evaluation.runs.config import RunConfig
from evaluation.runs.plan import plain_params
from evaluation.runs.support import Support
from schemas.answers import Answer
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.core.ids import content_id
from schemas.probes import Probe

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

TRIES = 3
"""Workers that a group of cases may lose before it is given up."""

Load = Callable[[RunConfig], "LM"]


class WorkerTask(NamedTuple):
    """A group of cases for one worker."""

    method: str
    params: dict[str, Any]
    jobs: tuple[tuple[str, AnyCase, tuple[Probe, ...]], ...]
    lost: int = 0


def load_model(config: RunConfig) -> LM:
    """The model that a configuration names, on this worker's device.

    Ray shows a worker one GPU, which is its first, whichever it is on the machine.
    """
    from evaluation.models.language_model import LM

    device = "cuda" if config.device.startswith("cuda:") else config.device
    return LM.load(config.model, device=device, dtype=config.dtype)


def shard_identity(editor: EditorLike, *, revision: str, dtype: str, support: Support) -> str:
    """What a finished case in a shard depends on beside the case itself: model, method, options, support.

    A folder may have been used with another model or another version of a method; its shards are not taken then.
    """
    params = plain_params(editor)
    data = {
        "editor": str(editor.name),
        "editor_version": int(editor.version),
        "params": params,
        "components": {str(k): str(v) for k, v in editor.components.items()},
        "model_revision": revision,
        "dtype": dtype,
        "support": support.digest if editor.wants_support(params) else "",
    }
    return content_id("shard", data)


class Worker:
    """Runs in a process of its own: the model, the methods made for it, the fast engine.

    Args:
        config: The run. ``support``: what methods may learn from. ``load``: gives the model.
        shard: Journal of what this worker has finished.
    """

    def __init__(self, config: RunConfig, support: Support, load: Load, shard: Path) -> None:
        from curation.files.artifact_cache import Cache
        from curation.files.model_packages import cache_dir

        self.config, self.support, self.shard = config, support, shard
        self.lm, self.cache = load(config), Cache(cache_dir())
        self.engine = FastEngine(self.lm, group=config.group)
        self._editors: dict[str, Any] = {}

    def identity(self) -> tuple[int, str]:
        """Process number, and revision of the model."""
        return os.getpid(), self.lm.revision

    def work(self, task: WorkerTask) -> list[dict[str, Any]]:
        """Do a task; every finished case is in the shard before the answer leaves."""
        from evaluation.editors.presets import make_editor

        key = repr((task.method, sorted(task.params.items(), key=str)))
        if key not in self._editors:
            self._editors[key] = make_editor(task.method, self.lm, self.cache, task.params)
            self._editors[key].prepare(self.support.cases)
        editor = self._editors[key]
        identity = shard_identity(editor, revision=self.lm.revision, dtype=self.config.dtype, support=self.support)
        out = []
        jobs = [Job(*job) for job in task.jobs]
        with Journal(self.shard, write=True) as journal:
            for done in self.engine.work(editor, jobs):
                out.append(_pack(done, identity))
                journal.append(f"{identity}|{done.job.key}", out[-1])
        return out


def _pack(done: JobResult, identity: str) -> dict[str, Any]:
    return {
        "key": done.job.key,
        "identity": identity,
        "case": done.job.case.id,
        "asked": [p.id for p in done.job.probes],
        "answers": [a.model_dump(mode="json") for a in done.answers],
        **{k: getattr(done, k) for k in ("notes", "error", "seconds_edit", "seconds_score", "peak_bytes")},
    }


def _unpack(data: dict[str, Any], job: Job) -> JobResult:
    more = {k: data[k] for k in ("notes", "error", "seconds_edit", "seconds_score", "peak_bytes")}
    return JobResult(job, [Answer.model_validate(a) for a in data["answers"]], **more)


class RayEngine:
    """The engine that hands work to Ray workers. Use it in a ``with`` block, which ends what it started.

    Args:
        config: The run; ``address`` names a cluster, else processes of this machine are started; ``workers``: how
            many at most, one a GPU where there are GPUs.
        support: What methods may learn from.
        lm: The model in this process; answers of any other model are not taken, from shards or from workers.
        load: Gives a worker its model.

    Raises:
        UserError: Ray is not installed, the cluster cannot be reached, or the regime is not ``single``.
    """

    def __init__(self, config: RunConfig, *, support: Support, lm: LM, load: Load = load_model) -> None:
        if config.regime.name != "single":
            raise UserError(
                f"in the regime '{config.regime.name}' edits build on each other, so cases cannot be spread",
                where="engine = 'ray'",
                fix="use engine = 'fast'",
            )
        self.config, self.support, self.lm, self.load = config, support, lm, load
        self.folder = (config.out / "shards").absolute()
        self._actors: list[Any] = []
        self._started = False
        self._number = 0

    def __enter__(self) -> RayEngine:
        try:
            import ray
        except ImportError:
            raise UserError("Ray is not installed", fix="run: pip install 'scedit[ray]'") from None
        if not ray.is_initialized():
            count = self.config.workers or max(1, (os.cpu_count() or 2) // 2)
            local_options: dict[str, Any] = {"num_cpus": max(count, 1), "include_dashboard": False}
            try:
                ray.init(
                    address=self.config.address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **({} if self.config.address else local_options),
                )
            except Exception as error:  # noqa: BLE001 - Ray raises bare ones where its processes are slow to come up
                doing = "reached" if self.config.address else "started"
                where = self.config.address or "this machine"
                raise UserError(f"no Ray cluster can be {doing}: {error}", where=where) from None
            self._started = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import ray

        for actor in self._actors:
            ray.kill(actor)
        self._actors = []
        if self._started:
            ray.shutdown()

    def expect(self, editors: Iterable[EditorLike]) -> None:
        """Workers score the unedited model where it falls to them, so nothing is kept beforehand."""

    def work(self, editor: EditorLike, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """See ``Engine``; results come in the order in which workers finish."""
        import ray

        params = plain_params(editor)
        method = str(editor.name)
        identity = self._identity(editor)
        known = {job.key: job for job in jobs}
        recorded = self._from_shards(identity, known)
        for done in recorded:
            yield done
        finished = {done.job.key for done in recorded}
        size = self.config.group or self._group()
        left = [job for job in jobs if job.key not in finished]
        waiting = deque(
            WorkerTask(method, params, tuple((j.key, j.case, j.probes) for j in left[i : i + size]))
            for i in range(0, len(left), size)
        )
        idle = deque(self._workers(len(waiting)))
        running: dict[Any, tuple[Any, WorkerTask]] = {}
        while waiting or running:
            while waiting and idle:
                actor, task = idle.popleft(), waiting.popleft()
                running[actor.work.remote(task)] = (actor, task)
            ready, _ = ray.wait(list(running), num_returns=1)
            actor, task = running.pop(ready[0])
            try:
                results = ray.get(ready[0])
            except ray.exceptions.RayActorError as error:
                self._actors.remove(actor)
                for done in self._from_shards(identity, {key: known[key] for key, *_ in task.jobs}):
                    finished.add(done.job.key)
                    yield done
                waiting.appendleft(self._remaining_task(task, finished, error))
                idle.append(self._start())
                continue
            idle.append(actor)
            for data in results:
                if data["identity"] != identity:
                    raise UserError(
                        "a worker holds another model, method or support than this process",
                        where=f"model {self.config.model}",
                        fix="put the same files and the same installed version on every machine of the cluster",
                    )
                yield _unpack(data, known[data["key"]])

    def _remaining_task(self, task: WorkerTask, finished: set[str], error: Exception) -> WorkerTask:
        """A lost worker's task, less what it had finished."""
        if task.lost + 1 >= TRIES:
            raise UserError(
                f"{TRIES} workers were lost on the same cases: {error}", fix="look at their memory"
            ) from None
        log.warning("a worker was lost; its unfinished cases are done again")
        return task._replace(jobs=tuple(job for job in task.jobs if job[0] not in finished), lost=task.lost + 1)

    def _identity(self, editor: EditorLike) -> str:
        return shard_identity(editor, revision=self.lm.revision, dtype=self.config.dtype, support=self.support)

    @cached_property
    def _resources(self) -> Mapping[str, float]:
        """What the cluster has, asked once."""
        import ray

        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call, unused-ignore]
        return resources

    def _gpus(self) -> int:
        """GPUs of the cluster that this run may use."""
        return 0 if self.config.device == "cpu" else int(self._resources.get("GPU", 0))

    def _group(self) -> int:
        return GROUP["cuda" if self._gpus() else "cpu"]

    def _room(self) -> int:
        """How many workers there may be: one a GPU where GPUs are used, no more than the configuration says."""
        workers = self.config.workers
        if gpus := self._gpus():
            return min(gpus, workers or gpus)
        return workers or int(self._resources.get("CPU", 1))

    def _workers(self, tasks: int) -> list[Any]:
        """As many workers as there are tasks for, no more than there is room for."""
        room = self._room()
        while len(self._actors) < max(1, min(tasks, room)):
            self._start()
        return list(self._actors)

    def _start(self) -> Any:
        import ray

        self._number += 1
        gpus = 1 if self._gpus() else 0
        shard = self.folder / f"{os.getpid()}-{self._number}.jsonl"
        remote = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)(Worker)
        actor = remote.remote(self.config, self.support, self.load, shard)
        self._actors.append(actor)
        return actor

    def _from_shards(self, identity: str, wanted: dict[str, Job]) -> list[JobResult]:
        """Finished cases in the shards of this run folder, whoever wrote them, if they answer what is asked now."""
        out: dict[str, JobResult] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            with Journal(path) as journal:
                for key, job in wanted.items():
                    data = journal.get(f"{identity}|{key}")
                    if data is None or data["error"] is not None or data["case"] != job.case.id:
                        continue
                    if {p.id for p in job.probes} == set(data["asked"]):
                        out[key] = _unpack(data, job)
        return list(out.values())

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[JobResult]:
        """No regime of this engine asks a model as it stands."""
        raise NotImplementedError
