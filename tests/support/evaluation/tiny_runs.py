"""A run of a tiny model as `scedit run` makes it, two cases a group."""

from __future__ import annotations

from curation.files.artifact_cache import Cache
from curation.splits.split_file import Split
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.inference.answering import ModelScorer
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import EditorOutcome
from tests.support.evaluation.runner_of import runner_of


def run_tiny(config: RunConfig, split: Split, lm: LM) -> list[EditorOutcome]:
    """All methods of the run; what they cache lies in the run's folder."""
    cache, engine = Cache(config.out / "cache"), FastEngine(lm, group=2)
    return runner_of(
        config, split, scorer=ModelScorer(lm), make=lambda n, p: make_editor(n, lm, cache, p), engine=engine
    ).run()
