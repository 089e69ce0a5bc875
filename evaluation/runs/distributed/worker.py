"""A worker: a process that holds the model, makes groups of edits, and writes what it has finished into its shard."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.case_sources.support import Support
from curation.files.journal import Journal
from evaluation.editors.base import Editor
from evaluation.engines.base import Job, JobResult
from evaluation.engines.environment import environment
from evaluation.engines.fast import FastEngine
from evaluation.models.loading import fix_order
from evaluation.runs.config import RunConfig
from evaluation.runs.distributed.remote_model import ModelDescription
from evaluation.runs.plan import plain_params, support_for
from schemas.answers import Answer
from schemas.cases import AnyCase
from schemas.core.ids import content_id
from schemas.probes import Probe

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

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
    return LM.load(config.model, device=device, dtype=config.dtype, attention=config.attention, layout=config.layout)


def shard_identity(editor: Editor, *, revision: str, dtype: str, support: Support, attention: str = "") -> str:
    """What a finished case in a shard depends on beside the case itself: model, method, options, support.

    A folder may have been used with another model or another version of a method; its shards are not taken then.
    ``attention`` is how the model computes it, where that is not as usual.
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
    return content_id("shard", data | ({"attention": attention} if attention else {}))


class Worker:
    """Runs in a process of its own: the model, the methods made for it, the fast engine.

    Args:
        config: The run.
        support: What methods may learn from.
        load: Gives the model.
        shard: Journal of what this worker has finished.
    """

    def __init__(self, config: RunConfig, support: Support, load: Load, shard: Path) -> None:
        from curation.files.artifact_cache import Cache
        from curation.files.model_packages import cache_dir

        self.config, self.support, self.shard = config, support, shard
        if config.deterministic:
            fix_order()
        self.lm, self.cache = load(config), Cache(cache_dir())
        self.engine = FastEngine(self.lm, group=config.engine.group)
        self._editors: dict[str, Any] = {}

    def identity(self) -> tuple[int, str]:
        """Process number, and revision of the model."""
        return os.getpid(), self.lm.revision

    def describe(self) -> ModelDescription:
        """What the process that hands out work must know of the model, which it does not load itself."""
        lm = self.lm
        made_in = environment(str(lm.device), weights=lm.model)
        return ModelDescription(lm.name, lm.revision, lm.layout, made_in, lm.other_attention)

    def work(self, task: WorkerTask) -> list[dict[str, Any]]:
        """Do a task; every finished case is in the shard before the answer leaves."""
        from evaluation.editors.presets import make_editor

        key = repr((task.method, sorted(task.params.items(), key=str)))
        if key not in self._editors:
            made = self._editors[key] = make_editor(task.method, self.lm, self.cache, task.params)
            made.prepare(support_for(made, self.support.cases))
        editor = self._editors[key]
        identity = shard_identity(
            editor,
            revision=self.lm.revision,
            dtype=self.config.dtype,
            support=self.support,
            attention=self.lm.other_attention,
        )
        out = []
        jobs = [Job(*job) for job in task.jobs]
        with Journal(self.shard, write=True) as journal:
            for done in self.engine.work(editor, jobs):
                out.append(pack_result(done, identity))
                journal.append(f"{identity}|{done.job.key}", out[-1])
        return out


def pack_result(done: JobResult, identity: str) -> dict[str, Any]:
    """A finished job as JSON values, for the shard and for the way home."""
    return {
        "key": done.job.key,
        "identity": identity,
        "case": done.job.case.id,
        "asked": [p.id for p in done.job.probes],
        "answers": [a.model_dump(mode="json") for a in done.answers],
        **{k: getattr(done, k) for k in ("notes", "error", "seconds_edit", "seconds_score", "peak_bytes")},
    }


def unpack_result(data: dict[str, Any], job: Job) -> JobResult:
    """What ``pack_result`` wrote of a job."""
    more = {k: data[k] for k in ("notes", "error", "seconds_edit", "seconds_score", "peak_bytes")}
    return JobResult(job, [Answer.model_validate(a) for a in data["answers"]], **more)
