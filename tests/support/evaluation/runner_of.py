"""A runner on a split that is open already."""

from __future__ import annotations

from typing import Any

from curation.case_sources.support import Support
from curation.splits.split_file import Split
from evaluation.runs.config import RunConfig
from evaluation.runs.plan import plan_of
from evaluation.runs.runner import Runner

NOTHING = Support()


def runner_of(config: RunConfig, split: Split, *, scorer: Any, support: Support = NOTHING, **more: Any) -> Runner:
    """A runner of a configuration on a split, with the model's name in place of the configured one."""
    return Runner(plan_of(config, split, support, model=scorer.name), scorer=scorer, **more)
