"""The model of a run with its engine: on this machine, behind an endpoint, or held by workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.case_sources.support import Support
from evaluation.inference.answering import ModelScorer
from evaluation.runs.cached_answers import CachedAnswers
from evaluation.runs.config import RunConfig
from evaluation.runs.endpoint import EndpointChoice, is_endpoint
from evaluation.runs.plan import Plan

if TYPE_CHECKING:
    from evaluation.engines.base import Engine
    from evaluation.engines.protocols import Scorer
    from evaluation.models.language_model import LM


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
        lm: The model, if it is loaded already.

    Raises:
        UserError: no such model, or something that an endpoint cannot do.
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.editors.presets import make_editor
    from evaluation.models.language_model import LM

    config, cache = plan.config, Cache(cache_dir())
    if is_endpoint(config.model):
        from evaluation.runs.endpoint_engine import endpoint_engine, open_endpoint

        endpoint, choice = open_endpoint(config, plan.metrics, plan.cases), config.endpoint or EndpointChoice()
        with endpoint_engine(endpoint.access, choice.journal or config.out / "llm.jsonl") as writer:
            yield OpenModel(endpoint.model, endpoint.make, writer)
        return
    if config.engine.name == "ray" and lm is None:
        from evaluation.runs.distributed.ray_engine import RayEngine
        from evaluation.runs.distributed.remote_model import RemoteScorer, remote_editor

        with RayEngine(config, support=plan.support) as workers:
            far = workers.model()
            answers = CachedAnswers.of_model(config, far.lm)
            make = partial(remote_editor, far.lm, cache)
            yield OpenModel(RemoteScorer(far), make, workers, answers, far.environment)
        return
    model = lm or LM.load(
        config.model,
        device=config.device,
        dtype=config.dtype,
        attention=config.attention,
        layout=config.layout,
    )

    def make_here(name: str, params: dict[str, Any]) -> Any:
        return make_editor(name, model, cache, params)

    with make_engine(config, model, support=plan.support) as engine:
        yield OpenModel(ModelScorer(model), make_here, engine, CachedAnswers.of_model(config, model))


@contextmanager
def make_engine(config: RunConfig, lm: LM, *, support: Support) -> Iterator[Engine]:
    """The engine that a configuration names; workers that it starts end with the block.

    Raises:
        UserError: ``ray`` in a regime where edits build on each other, or without the package.
    """
    from evaluation.engines.fast import FastEngine
    from evaluation.engines.simple import SimpleEngine

    if config.engine.name == "simple":
        yield SimpleEngine(ModelScorer(lm), batch_tokens=config.engine.batch_tokens or 4096)
        return
    if config.engine.name == "ray":
        from evaluation.runs.distributed.ray_engine import RayEngine

        with RayEngine(config, support=support, lm=lm) as engine:
            yield engine
        return
    from evaluation.inference.batched_scoring import EditScorer
    from evaluation.inference.batching import TokenBudget, default_budget

    tokens = config.engine.batch_tokens
    budget = default_budget(lm) if tokens is None else TokenBudget(tokens)
    yield FastEngine(lm, scorer=EditScorer(lm, budget=budget), group=config.engine.group)
