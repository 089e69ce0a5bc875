"""The number of layers is read from a configuration on this machine, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.models.loading import model_depth, source_of
from tests.support.tiny import CONFIGS, make


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_family_tells_its_depth_under_its_own_name(kind: str, tmp_path: Path) -> None:
    lm = make(kind)
    lm.model.config.save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.safetensors"))
    assert model_depth(str(tmp_path)) == lm.layout.depth == 3


def test_the_text_part_of_a_model_with_several_counts(tmp_path: Path) -> None:
    text = {"model_type": "gemma3_text", "num_hidden_layers": 5, "hidden_size": 32}
    config = {"model_type": "gemma3", "text_config": text, "vision_config": {"num_hidden_layers": 9}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert model_depth(str(tmp_path)) == 5


def test_a_gguf_file_tells_its_depth_before_and_after_it_is_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source_of("embedded") and model_depth("embedded") == 30
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path))
    assert model_depth("embedded") == 30


@pytest.mark.parametrize("content", [b"", b"GGUF", b"JUNK" * 20, b"GGUF" + b"\x03\0\0\0" + b"\0" * 16])
def test_a_damaged_gguf_file_tells_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    assert model_depth(str(tmp_path / "m.gguf")) is None


@pytest.mark.parametrize("config", [None, "{", '{"model_type": "nobody-knows-it"}', "[]"])
def test_a_folder_without_a_readable_configuration_tells_nothing(config: str | None, tmp_path: Path) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    assert model_depth(str(tmp_path)) is None


def test_a_hub_model_that_is_not_here_is_not_asked_for() -> None:
    assert model_depth("nobody/has-this") is None
