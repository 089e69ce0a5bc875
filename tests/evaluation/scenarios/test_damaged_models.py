"""Folders that are damaged, or hold another model than they say: each is refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from evaluation.checks.model_compatibility import diagnose
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError
from tests.support.evaluation.tiny_runs import saved
from tests.support.tiny import make


def cut_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def configured(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return change


def without(part: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        weights: dict[str, Tensor] = load_file(folder / "model.safetensors")
        kept = {name: value for name, value in weights.items() if part not in name}
        save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})

    return change


def with_nan(*names: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        weights: dict[str, Tensor] = load_file(folder / "model.safetensors")
        for name in names:
            weights[name].view(-1)[-1] = torch.nan
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    return change


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "half of the weights' file": (cut_weights, "no readable model: .*incomplete"),
    "an empty file of weights": (lambda f: (f / "model.safetensors").write_bytes(b""), "no readable model: .*header"),
    "a list as configuration": (lambda f: (f / "config.json").write_text("[]"), "no readable model: "),
    "a width in words": (configured(hidden_size="wide"), "no readable model: .*hidden_size"),
    "heads that do not divide the width": (configured(num_attention_heads=3), "no readable model: .*heads"),
    "an unknown type": (configured(dtype="float17"), "no readable model: .*float17"),
    "one weight less": (without("1.mlp.down_proj"), r"lack 1 weight of the model \(model.layers.1.mlp.down_proj"),
    "a layer more": (configured(num_hidden_layers=4), r"lack 9 weights of the model \(model.layers.3"),
    "a number that is none": (with_nan("lm_head.weight"), r"1 weight holds NaN \(lm_head.weight is the first"),
    "two of them": (with_nan("lm_head.weight", "model.norm.weight"), "2 weights hold NaN"),
    "no head": (without("lm_head"), r"lack 1 weight of the model \(lm_head"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_refused_in_a_sentence(damage: str, tmp_path: Path) -> None:
    spoil, message = DAMAGE[damage]
    folder = saved(make("llama"), tmp_path / "m")
    spoil(folder)
    with pytest.raises(ModelError, match=message):
        LM.load(str(folder), device="cpu")
    diagnosis = diagnose(str(folder), device="cpu")
    assert not diagnosis.works and diagnosis.findings[0].what == "load"


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_a_tied_head_is_not_missing(kind: str, tmp_path: Path) -> None:
    LM.load(str(saved(make(kind), tmp_path / "m")), device="cpu")


def test_a_model_larger_than_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved(make("llama"), tmp_path / "m")

    def full(*args: Any, **more: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 224.00 MiB.")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(ModelError, match="does not fit into the memory of the device; use dtype = 'bfloat16'"):
        LM.load(str(folder), device="cpu")
