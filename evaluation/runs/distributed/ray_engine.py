"""Cases spread over processes, devices and machines by Ray: each worker holds the model and writes a journal shard.

Workers take groups of cases. What a worker has finished is in its shard before it is handed over. When a worker is
lost, the next free one does its unfinished cases, and another worker is started if the cluster has a place for it. When
the run itself was killed, shards are read first.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from curation.case_sources.support import Support
from curation.files.journal import Journal
from evaluation.editors.base import Editor
from evaluation.engines.base import Engine, Job, JobResult
from evaluation.engines.fast import GROUP
from evaluation.runs.config import RunConfig
from evaluation.runs.distributed.remote_model import RemoteModel, weightless
from evaluation.runs.distributed.worker import Load, Worker, WorkerTask, load_model, shard_identity, unpack_result
from evaluation.runs.plan import plain_params
from schemas.core.errors import UserError
from schemas.text.counting import counted

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

TRIES = 3
"""Workers that a group of cases may lose before it is given up."""
REPORT_EVERY = 30.0
"""Seconds without an event after which the engine says what it waits for."""
GIVE_UP_AFTER = 600.0
"""Seconds without any live worker after which the run ends with what is done."""


class RayEngine(Engine):
    """The engine that hands work to Ray workers. Use it in a ``with`` block, which ends what it started.

    Args:
        config: The run; ``engine.address`` names a cluster, else processes of this machine are started;
            ``engine.workers``: how many at most, one a GPU where there are GPUs.
        support: What methods may learn from.
        lm: The model, where this process has it; else ``model`` asks a worker for what is needed of it. Answers of any
            other model are not taken, from shards or from workers.
        load: Gives a worker its model.

    Raises:
        UserError: Ray is not installed, the cluster cannot be reached, or the regime is not ``single``.
    """

    report_every, give_up_after = REPORT_EVERY, GIVE_UP_AFTER

    def __init__(self, config: RunConfig, *, support: Support, lm: LM | None = None, load: Load = load_model) -> None:
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
        self._starting: dict[Any, Any] = {}  # a worker's first reply to come -> the worker
        self._ready: list[Any] = []
        self._starts = 0  # workers that were lost

    def __enter__(self) -> RayEngine:
        try:
            import ray
        except ImportError:
            raise UserError("Ray is not installed", fix="run: pip install 'scedit[ray]'") from None
        if not ray.is_initialized():
            count = self.config.engine.workers or max(1, (os.cpu_count() or 2) // 2)
            address = self.config.engine.address or os.environ.get("RAY_ADDRESS")
            # "local" starts processes of our own: without an address Ray joins any cluster that this machine runs.
            local_options = {"address": "local", "num_cpus": max(count, 1), "include_dashboard": False}
            options: dict[str, Any] = {"address": address} if address else local_options
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
            except Exception as error:  # noqa: BLE001 - Ray raises bare ones where its processes are slow to come up
                doing = "reached" if address else "started"
                where = address or "this machine"
                raise UserError(f"no Ray cluster can be {doing}: {error}", where=where) from None
            self._started = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import ray

        for actor in self._actors:
            ray.kill(actor)
        self._actors, self._ready, self._starting = [], [], {}
        if self._started:
            ray.shutdown()

    def model(self) -> RemoteModel:
        """The model that workers hold, without weights: the first worker is started and describes it.

        Raises:
            UserError: the worker cannot load it, or holds other files than this machine.
        """
        import ray

        try:
            described = ray.get(self._start().describe.remote())
        except ray.exceptions.RayActorError as error:
            self._actors, self._starting = [], {}
            reason = str(error).strip().rpartition("\n")[2]
            raise UserError(f"a worker cannot load the model: {reason}", where=f"model {self.config.model}") from None
        self.lm = weightless(described, dtype=self.config.dtype)
        if self.lm.revision != described.revision:
            raise _other_model(self.config.model)
        return RemoteModel(self.lm, described.environment)

    def work(self, editor: Editor, jobs: Sequence[Job]) -> Iterator[JobResult]:
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
        if not (left := [job for job in jobs if job.key not in finished]):
            return
        size = self.config.engine.group or self._group()
        waiting = deque(
            WorkerTask(method, params, tuple((j.key, j.case, j.probes) for j in left[i : i + size]))
            for i in range(0, len(left), size)
        )
        self._workers(len(waiting))
        idle, running = deque(self._ready), dict[Any, tuple[Any, WorkerTask]]()
        while waiting or running:
            while waiting and idle:
                actor, task = idle.popleft(), waiting.popleft()
                running[actor.work.remote(task)] = (actor, task)
            ref = self._next_event(running, sum(len(task.jobs) for task in waiting))
            if (starting := self._starting.pop(ref, None)) is not None:
                try:
                    ray.get(ref)
                except ray.exceptions.RayActorError as error:
                    self._lose(starting, error)
                    continue
                self._ready.append(starting)
                idle.append(starting)
                continue
            actor, task = running.pop(ref)
            try:
                results = ray.get(ref)
            except ray.exceptions.RayActorError as error:
                for done in self._from_shards(identity, {key: known[key] for key, *_ in task.jobs}):
                    finished.add(done.job.key)
                    yield done
                waiting.appendleft(self._remaining_task(task, finished, error))
                self._lose(actor, error)
                continue
            idle.append(actor)
            for data in results:
                if data["identity"] != identity:
                    raise _other_model(self.config.model)
                yield unpack_result(data, known[data["key"]])

    def _next_event(self, running: Mapping[Any, Any], waiting: int) -> Any:
        """Wait for a finished task or a started worker; says what is waited for, and ends when nothing comes.

        Raises:
            UserError: no worker is alive and none started within the limit; what is finished is stored.
        """
        import ray

        silent = 0.0
        while True:
            events = [*running, *self._starting]
            ready, _ = ray.wait(events, num_returns=1, timeout=self.report_every) if events else ([], [])
            if ready:
                return ready[0]
            silent += self.report_every
            cases = counted(waiting, "case")
            if not running:
                log.warning("no worker is alive: %s wait for one since %.0f s", cases, silent)
            elif waiting and self._starting:
                log.info("%s wait; %s is starting", cases, counted(len(self._starting), "worker"))
            if not running and silent >= self.give_up_after:
                raise UserError(
                    f"no worker of the cluster started within {silent:.0f} s, and {cases} are left",
                    fix="look at the cluster (ray status); the same command resumes, what is finished is stored",
                )

    def _lose(self, actor: Any, error: Exception) -> None:
        """Forget a lost worker and ask for another; live workers take its cases meanwhile."""
        self._starts += 1
        self._actors.remove(actor)
        if actor in self._ready:
            self._ready.remove(actor)
        elif self._starts > TRIES * max(1, self._room()):
            raise UserError(f"workers of the cluster cannot start: {error}", fix="look at their memory and model files")
        self._start()

    def _remaining_task(self, task: WorkerTask, finished: set[str], error: Exception) -> WorkerTask:
        """A lost worker's task, less what it had finished."""
        if task.lost + 1 >= TRIES:
            raise UserError(
                f"{TRIES} workers were lost on the same cases: {error}", fix="look at their memory"
            ) from None
        log.warning("a worker was lost; the next free one does its unfinished cases")
        return task._replace(jobs=tuple(job for job in task.jobs if job[0] not in finished), lost=task.lost + 1)

    def _identity(self, editor: Editor) -> str:
        assert self.lm is not None, "given, or asked for by ``model``"
        return shard_identity(
            editor,
            revision=self.lm.revision,
            dtype=self.config.dtype,
            support=self.support,
            attention=self.lm.other_attention,
        )

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
        workers = self.config.engine.workers
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
        remote: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)(Worker)
        actor = remote.remote(self.config, self.support, self.load, shard)
        self._actors.append(actor)
        self._starting[actor.identity.remote()] = actor
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
                        out[key] = unpack_result(data, job)
        return list(out.values())


def _other_model(name: str) -> UserError:
    return UserError(
        "a worker holds another model, method or support than this process",
        where=f"model {name}",
        fix="put the same files and the same installed version on every machine of the cluster",
    )
