"""The number of layers is read from what lies on this machine: folders, GGUF files; and never guessed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from evaluation.models.depth import model_depth, refuse_missing_layers
from schemas.core.errors import UserError
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


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(*fields: bytes, version: int = 3) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, 0, len(fields)) + b"".join(fields)


BLOCKS = string("llama.block_count") + struct.pack("<II", 4, 30)
BEFORE = [
    string("general.architecture") + struct.pack("<I", 8) + string("llama"),
    string("general.flag") + struct.pack("<I?", 7, True),
    string("general.scale") + struct.pack("<Id", 12, 1.5),
    string("general.tags") + struct.pack("<IIQ", 9, 8, 2) + string("a") + string("bc"),
    string("general.sizes") + struct.pack("<IIQ3H", 9, 2, 3, 1, 2, 3),
    string("general.nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2B", 0, 2, 7, 8),
]


def test_a_gguf_file_whatever_stands_before(tmp_path: Path) -> None:
    path = tmp_path / "m.GGUF"
    path.write_bytes(gguf(*BEFORE, BLOCKS) + b"tensors")
    assert model_depth(str(path)) == model_depth(f"gguf:{path}") == 30


@pytest.mark.parametrize(
    "content",
    [b"", b"GGUF", b"JUNK" + gguf(BLOCKS)[4:], gguf(BLOCKS, version=1), gguf(*BEFORE), gguf(BLOCKS)[:-2]],
    ids=["empty", "cut after the magic", "another magic", "version 1", "no such field", "cut in the value"],
)
def test_a_damaged_gguf_file_tells_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    assert model_depth(str(path)) is None


def test_the_embedded_model() -> None:
    assert model_depth("embedded") == 30


@pytest.mark.parametrize("config", [None, "{", '{"model_type": "nobody-knows-it"}', "[]"])
def test_a_folder_without_a_readable_configuration_tells_nothing(config: str | None, tmp_path: Path) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    assert model_depth(str(tmp_path)) is None


def test_a_hub_model_that_is_not_here_is_not_asked_for() -> None:
    assert model_depth("nobody/has-this") is None


@pytest.mark.parametrize(("layers", "missing"), [((3,), 3), ((0, 2, 7, 9), 7), ((-1,), -1)])
def test_missing_layers_are_refused(layers: tuple[int, ...], missing: int) -> None:
    with pytest.raises(UserError) as error:
        refuse_missing_layers(layers, 3, where="editors.x.params")
    exception = error.value
    assert (exception.where, exception.allowed) == (
        "editors.x.params",
        "0 to 2",
    ) and f"no layer {missing}" in exception.what


def test_layers_that_are_there_or_cannot_be_judged_pass() -> None:
    refuse_missing_layers((0, 1, 2), 3, where="x")
    refuse_missing_layers((), 3, where="x")
    refuse_missing_layers((99,), None, where="x")
