"""Cases spread over Ray workers: the same result as one process, also when a worker is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.inference.answering import ModelScorer
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import RunConfig
from evaluation.runs.ray_engine import RayEngine
from evaluation.runs.runner import EditorOutcome, Runner
from evaluation.runs.support import Support
from schemas.core.errors import UserError
from tests.evaluation.engines.test_fast import OPTIONS, same, split
from tests.support import ROOT
from tests.support.tiny import make


def tiny(config: RunConfig) -> Any:
    return make("llama")


def config(out: Path, **more: Any) -> RunConfig:
    editors = [{"name": "rome", "params": OPTIONS["rome"]}]
    data = {"split": "mini", "editors": editors, "out": str(out), "engine": "ray", "workers": 2, "group": 1}
    data |= {"metrics": ["es", "s_es", "s_es_gen"], "generation": {"step_tokens": 4}}  # texts come home too
    return RunConfig.model_validate({**data, **more})


def go(wanted: RunConfig, engine: Any) -> dict[str, EditorOutcome]:
    lm, cache = make("llama"), Cache(wanted.out / "cache")
    runner = Runner(
        wanted, split(), scorer=ModelScorer(lm), make=lambda n, p: make_editor(n, lm, cache, p), engine=engine
    )
    return {outcome.label: outcome for outcome in runner.run()}


@pytest.mark.slow
def test_two_workers_of_which_one_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    import ray

    root = str(ROOT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    whole = go(config(tmp_path / "one"), FastEngine(make("llama"), group=1))
    wanted = config(tmp_path / "two")
    with RayEngine(wanted, support=Support(), load=tiny) as engine:
        first, _ = engine._workers(2)
        process, revision = ray.get(first.identity.remote())
        assert revision == "tiny-llama-1"
        killed: list[int] = []
        real = engine.work

        def work(editor: Any, jobs: Any) -> Any:
            for done in real(editor, jobs):
                if not killed and editor.name == "rome":
                    killed.append(process)
                    os.kill(process, signal.SIGKILL)
                yield done

        monkeypatch.setattr(engine, "work", work)
        spread = go(wanted, engine)
        assert killed and engine._number == 3, "a third worker took the killed one's place"
    for label in ("none", "rome"):
        assert spread[label].computed == 5 and spread[label].failed == 0
        same(whole[label], spread[label], within=0.0)
        notes = [{k: r.notes for k, r in o[label].folder.results().items()} for o in (whole, spread)]
        assert notes[0] == notes[1]


def test_regimes_in_which_edits_build_on_each_other_are_refused(tmp_path: Path) -> None:
    """By the configuration, before anything is loaded; and by the engine, for a configuration made another way."""
    batch = {"name": "batch", "size": 2}
    with pytest.raises(ValidationError, match="edits build on each other"):
        config(tmp_path, regime=batch)
    unchecked = config(tmp_path).model_copy(update={"regime": RegimeChoice.model_validate(batch)})
    with pytest.raises(UserError, match="edits build on each other"):
        RayEngine(unchecked, support=Support())


def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    import ray

    def silent(**more: Any) -> None:
        raise ConnectionError(f"no answer from {more['address']}")

    monkeypatch.setattr(ray, "init", silent)
    engine = RayEngine(config(tmp_path, address="ray://nowhere:10001"), support=Support())
    with pytest.raises(UserError, match="ray://nowhere:10001: no Ray cluster can be reached: no answer"), engine:
        pass
