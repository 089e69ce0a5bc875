"""The model of a run with its engine: on this machine, behind an endpoint, or held by workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors.presets import make_editor
from evaluation.engines.base import Engine
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer, Scorer
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget, default_budget
from evaluation.models.language_model import LM
from evaluation.runs.cached_answers import CachedAnswers
from evaluation.runs.config import RunConfig
from evaluation.runs.plan import Plan


class OpenModel(NamedTuple):
    """A model that is ready.

    Attributes:
        scorer: Answers probes.
        make: Makes a method of a name and parameters.
        engine: Makes and scores edits.
        answers: File of cached answers of the unedited model; None: they are not cached.
        environment: Of the process that computes, if it is not this one.
    """

    scorer: Scorer
    make: Callable[[str, dict[str, Any]], Any]
    engine: Engine
    answers: Path | None = None
    environment: dict[str, Any] | None = None


@contextmanager
def open_model(plan: Plan, lm: LM | None = None) -> Iterator[OpenModel]:
    """The model that a plan names; what it starts ends with the block.

    Args:
        plan: The run.
        lm: The model, if it is loaded already; workers load it themselves.

    Raises:
        UserError: no such model, or something that an endpoint cannot do.
    """
    config, cache = plan.config, Cache(cache_dir())
    if config.behind_endpoint:
        from evaluation.runs.endpoint import EndpointEngine, open_endpoint, open_journal

        far = open_endpoint(config, plan.metrics, plan.cases)
        with open_journal(config, far.access) as session:
            yield OpenModel(far, far.make, EndpointEngine(session))
        return
    if config.engine.name == "ray":
        from evaluation.runs.distributed.ray_engine import RayEngine
        from evaluation.runs.distributed.remote_model import remote_editor, remote_scorer

        with RayEngine(config, support=plan.support) as workers:
            held = workers.model()
            scorer, make_far = remote_scorer(held), partial(remote_editor, held.lm, cache)
            answers = CachedAnswers.file_of(scorer, config.dtype)
            yield OpenModel(scorer, make_far, workers, answers, held.environment)
        return
    model = lm or LM.load(
        config.model,
        device=config.device,
        dtype=config.dtype,
        attention=config.attention,
        layout=config.layout,
    )

    def make(name: str, params: dict[str, Any]) -> Any:
        return make_editor(name, model, cache, params)

    here = ModelScorer(model)
    yield OpenModel(here, make, make_engine(config, model), CachedAnswers.file_of(here, config.dtype))


def make_engine(config: RunConfig, lm: LM) -> Engine:
    """The engine of this process that a configuration names."""
    tokens = config.engine.batch_tokens
    if config.engine.name == "simple":
        return SimpleEngine(ModelScorer(lm), batch_tokens=tokens or 4096)
    budget = default_budget(lm) if tokens is None else TokenBudget(tokens)
    return FastEngine(lm, scorer=EditScorer(lm, budget=budget), group=config.engine.group)
