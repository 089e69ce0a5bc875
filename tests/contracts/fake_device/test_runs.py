"""Whole runs on a fake device: every regime, with texts; second moments and their pack; the doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from curation.splits.split_file import write_split
from evaluation.checks import model_compatibility
from evaluation.covariance.covariance import Corpus, cached_covariance, key_covariances
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import execute
from tests.support.arithmetic import make_cases
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make, shuffled

REGIMES: list[Any] = [
    "single",
    {"name": "batch", "size": 2},
    {"name": "sequential", "size": [1, 2], "score": "both"},
]


def on_card(kind: str, **more: Any) -> LM:
    lm = make(kind, **more)
    lm.model.to("cuda")
    return lm


@pytest.mark.parametrize("regime", REGIMES, ids=str)
def test_every_regime_with_texts(regime: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    write_split(make_cases(2, 1), tmp_path / "split.jsonl")
    (tmp_path / "corpus.txt").write_text("\n\n".join(shuffled(4)), encoding="utf-8")
    memit = {"steps": 2, "templates": ["{}"], "corpus": str(tmp_path / "corpus.txt"), "layers": [0, 1]}
    config = RunConfig.model_validate(
        {
            "split": {"file": str(tmp_path / "split.jsonl")},
            "model": "tiny",
            "device": "auto",
            "regime": regime,
            "editors": ["none", {"name": "ft", "params": {"steps": 2}}, {"name": "memit", "params": memit}],
            "metrics": ["es", "s_es", "collapse", "s_es_gen", "s_es_gen_question"],
            "generation": {"max_tokens": 3, "step_tokens": 3},
            "out": str(tmp_path / "run"),
        }
    )
    with fake_gpu() as machine:
        outcomes = execute(config, lm=on_card("gpt2", n_positions=512))
    assert not machine.counts.refused and not any(o.failed for o in outcomes)
    assert [o.label for o in outcomes] == ["none", "ft", "memit"] and all(o.computed for o in outcomes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_second_moments(dtype: torch.dtype, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("\n\n".join(shuffled(4)), encoding="utf-8")
    corpus, cache = Corpus([tmp_path / "corpus.txt"]), Cache(tmp_path / "cache")
    with fake_gpu() as machine:
        lm = on_card("llama", dtype=dtype)
        covariances = key_covariances(lm, [0, 1], corpus, cache=cache)
        assert cached_covariance(lm, 1, corpus, cache=cache) is not None and covariances
    assert not machine.counts.refused


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_the_doctor(kind: str, tmp_path: Path) -> None:
    with fake_gpu() as machine:
        notes = model_compatibility.examine(on_card(kind))
    assert not machine.counts.refused and notes
