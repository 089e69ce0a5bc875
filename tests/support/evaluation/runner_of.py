"""A runner on a split that is open already."""

from __future__ import annotations

from typing import Any

from curation.case_sources.support import Support
from curation.splits.split_file import Split
from evaluation.editors.presets import check_options
from evaluation.engines.simple import SimpleEngine
from evaluation.runs.config import RunConfig
from evaluation.runs.open_model import OpenModel
from evaluation.runs.plan import plan_of
from evaluation.runs.refusals import check_editors
from evaluation.runs.runner import Runner

NOTHING = Support()


def runner_of(
    config: RunConfig,
    split: Split,
    *,
    scorer: Any,
    make: Any,
    support: Support = NOTHING,
    engine: Any = None,
    answers: Any = None,
    **more: Any,
) -> Runner:
    """A runner of a configuration on a split that is open already."""
    model = OpenModel(scorer, make, engine or SimpleEngine(scorer), answers)
    return Runner(plan_of(config, split, support), model, **more)


def check_methods(config: RunConfig, split: Split, support: Support = NOTHING, *, engine: str = "fast") -> None:
    """What a run refuses of its methods before a model is loaded."""
    options = {k: check_options(c.name, "gpt2-xl", c.params, where=k) for k, c in config.editors.items()}
    check_editors(config.editors, options, split=split, support=support, engine=engine)
