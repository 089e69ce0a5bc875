"""A pack on a hub: data, manifest and card, verified; no pack of a model that nobody else has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.covariance.pack import manifest_path, pack_card, pack_files, read_manifest
from schemas.core.errors import DataError, UserError
from tests.support.editors import packs

corpus = packs.corpus
pack = packs.pack


def test_data_manifest_and_card(pack: Path) -> None:
    files = {f.name: f for f in pack_files(pack)}
    assert set(files) == {"README.md", "tiny.safetensors", "tiny.manifest.json"}
    assert files["tiny.safetensors"].content == pack
    card = files["README.md"].content
    assert isinstance(card, bytes) and files["README.md"].size == len(card)
    text, manifest = card.decode(), read_manifest(pack)
    assert manifest.sha256 in text and "| layers | `0, 2` |" in text and f"{manifest.tokens:,}" in text
    assert text.startswith('---\nbase_model: "tiny-llama"\n') and str(pack.parent) not in text


def test_names_cannot_break_out_of_the_card(pack: Path) -> None:
    hostile = read_manifest(pack).model_copy(update={"corpus": "a`|b\n# c", "model": "x\u202ey"})
    text = pack_card(hostile, "n")
    assert "\n# c" not in text and "\u202e" not in text and "a'/b" in text


def test_a_damaged_pack_and_a_model_in_a_folder_are_refused(pack: Path) -> None:
    data = json.loads(manifest_path(pack).read_text(encoding="utf-8"))
    manifest_path(pack).write_text(json.dumps({**data, "model": "/home/me/llama"}), encoding="utf-8")
    with pytest.raises(UserError, match="folder of this machine"):
        pack_files(pack)
    pack.write_bytes(pack.read_bytes()[:-1])
    with pytest.raises(DataError, match="does not agree with its manifest"):
        pack_files(pack)
