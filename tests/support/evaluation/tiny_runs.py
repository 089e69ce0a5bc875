"""Runs of a tiny model as `scedit run` makes them, and its files as a folder that can be loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curation.files.artifact_cache import Cache
from curation.splits.split_file import Split
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import EditorOutcome
from tests.support.evaluation.runner_of import runner_of


def run_tiny(config: RunConfig, split: Split, lm: LM, *, engine: Any = None, **more: Any) -> list[EditorOutcome]:
    """All methods of the run, by the engine it names (the fast one two cases a group); caches lie in its folder."""
    cache, scorer = Cache(config.out / "cache"), ModelScorer(lm)
    named = FastEngine(lm, group=2) if config.engine.name == "fast" else SimpleEngine(scorer)
    return runner_of(
        config, split, scorer=scorer, make=lambda n, p: make_editor(n, lm, cache, p), engine=engine or named, **more
    ).run()


def saved(lm: LM, folder: Path) -> Path:
    """The folder, with the model's weights and its tokenizer."""
    lm.model.save_pretrained(folder)
    lm.tokenizer.save_pretrained(folder)
    return folder
