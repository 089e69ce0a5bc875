"""Runs of routed edits: in sequence and in batches as by hand, by both engines; resumed; nothing piles up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.routed_deltas import is_routed
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from schemas.cases import Case
from tests.evaluation.regimes.test_sequential import CASES, SPLIT, by_unit, close, probes
from tests.support.evaluation.runner_of import runner_of
from tests.support.facts import peru_fact
from tests.support.tiny import make

OTHERS = [Case(key="o", fact=peru_fact("f/o", prompt="{} was founded in"))]
OPTIONS: dict[str, dict[str, Any]] = {
    "grace": {"layer": 1, "steps": 8, "eps": 2.0},
    "wise": {"layer": 1, "steps": 6, "lr": 0.1, "alpha": 0.2, "beta": 2.0, "gamma": 1.0, "templates": ("{}",)},
}


def config(out: Path, regime: Any, name: str) -> RunConfig:
    return RunConfig.model_validate(
        {
            "split": "mini",
            "editors": [{"name": name, "params": OPTIONS[name]}],
            "out": str(out),
            "regime": regime,
            "metrics": ["es", "s_es", "s_es_gen"],
        }
    )


def prepared(lm: LM, name: str, folder: Path) -> Any:
    editor = make_editor(name, lm, Cache(folder), OPTIONS.get(name, {}))
    editor.prepare(OTHERS)
    return editor


def go(lm: LM, wanted: RunConfig, *, engine: Any = None) -> Any:
    def method(name: str, params: Any) -> Any:
        editor = prepared(lm, name, wanted.out / "cache")
        editor.prepare = lambda support: None  # the split's own support would be declared in the configuration
        return editor

    return runner_of(wanted, SPLIT, scorer=ModelScorer(lm), make=method, engine=engine).run()[1]


@pytest.mark.parametrize(("name", "engine"), [("grace", "fast"), ("wise", "simple")])
def test_a_sequence_is_the_edit_of_all_so_far(name: str, engine: str, tmp_path: Path) -> None:
    lm = make("llama")
    digest, wanted = lm.weights_digest(), config(tmp_path, {"name": "sequential", "size": [2, 4]}, name)
    made = FastEngine(lm) if engine == "fast" else SimpleEngine(ModelScorer(lm))
    units = by_unit(go(lm, wanted, engine=made))
    assert lm.weights_digest() == digest and not is_routed(lm.model)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())
    editor = prepared(lm, name, tmp_path / "hand")
    for length in (2, 4):
        with editor.edit([case.fact for case in CASES[:length]]).on(lm):
            for case in CASES[:length]:
                scored = [probe for probe in probes(wanted, case) if hasattr(probe, "targets")]
                got = [a for a in units[case.key, length].answers if a.targets]
                close(got, score(lm, scored), within=5e-3)


def test_only_the_newest_edit_of_a_sequence_holds_the_memory(tmp_path: Path) -> None:
    """A sequence of a thousand edits would else hold a thousand codebooks."""
    lm = make("llama")
    kept: list[int] = []
    editor = prepared(lm, "grace", tmp_path / "cache")
    real = editor.edit_after

    def watched(requests: Any, earlier: Any) -> Any:
        kept.append(sum(one.carried is not None for one in earlier))
        assert all(not one.deltas for one in earlier)
        return real(requests, earlier)

    editor.edit_after = watched
    editor.prepare = lambda support: None
    wanted = config(tmp_path, {"name": "sequential", "size": [5]}, "grace")
    runner_of(
        wanted,
        SPLIT,
        scorer=ModelScorer(lm),
        make=lambda name, _: editor if name == "grace" else prepared(lm, name, tmp_path),
    ).run()
    assert kept == [0, 1, 1, 1, 1]
