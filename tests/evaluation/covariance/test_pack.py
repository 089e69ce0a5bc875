from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from curation.files.artifact_cache import Cache
from evaluation.cli.covariance import parse_layers
from evaluation.covariance.covariance import KIND, Corpus, cached_covariance, key_covariances
from evaluation.covariance.pack import (
    keep_pack,
    manifest_path,
    pack_card,
    pack_files,
    read_manifest,
    read_pack,
    write_pack,
)
from evaluation.models.language_model import LM
from schemas.core.errors import DataError, UserError
from tests.support.commands import command
from tests.support.editors import packs
from tests.support.tiny import make

corpus = packs.corpus


pack = packs.pack


def test_read_back_and_kept(pack: Path, corpus: Corpus, tmp_path: Path) -> None:
    lm, cache = make("llama"), Cache(tmp_path / "there")
    want = key_covariances(lm, [0, 2], corpus, cache=Cache(tmp_path / "here"), cap=20)
    result = read_pack(pack, lm=lm)
    assert all(torch.equal(result.layers[n].second, want[n].second) for n in (0, 2))
    assert cached_covariance(lm, 2, corpus, cache=cache, cap=20) is None
    keep_pack(result, cache)
    covariance = cached_covariance(lm, 2, corpus, cache=cache, cap=20)
    assert (
        covariance is not None
        and torch.equal(covariance.second, want[2].second)
        and covariance.tokens == want[2].tokens
    )
    assert cached_covariance(lm, 2, corpus, cache=cache, cap=21) is None
    with pytest.raises(DataError, match=r"lacks layers \[1\]; allowed: 0, 2"):
        read_pack(pack, layers=[1])


def rewrite(pack: Path, change: str) -> None:
    """A pack whose manifest agrees with its data, but whose data is wrong."""
    import hashlib

    tensors = load_file(pack)
    second = tensors["layer.0"]
    if change == "shape":
        second = second[:-1]
    elif change == "nan":
        second[1, 1] = torch.nan
    elif change == "negative":
        second[1, 1] = -1.0
    elif change == "symmetry":
        second[0, 1] += second.max()
    elif change == "lost":
        tensors.pop("layer.2")
    tensors["layer.0"] = second.contiguous()
    save_file(tensors, pack)
    report = json.loads(manifest_path(pack).read_text())
    report["sha256"] = hashlib.sha256(pack.read_bytes()).hexdigest()
    manifest_path(pack).write_text(json.dumps(report))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("shape", r"layer 0: the second moment has shape \(47, 48\); allowed: \(48, 48\)"),
        ("nan", "values that no mean"),
        ("negative", "values that no mean"),
        ("symmetry", "not symmetric"),
        ("lost", "cannot be read"),
    ],
)
def test_wrong_data_is_refused(pack: Path, change: str, message: str) -> None:
    rewrite(pack, change)
    with pytest.raises(DataError, match=message):
        read_pack(pack)


def test_damage_is_refused(pack: Path) -> None:
    data = bytearray(pack.read_bytes())
    data[-1] ^= 1
    pack.write_bytes(bytes(data))
    with pytest.raises(DataError, match="does not agree with its manifest; fetch it again"):
        read_pack(pack)
    manifest_path(pack).write_text(manifest_path(pack).read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(DataError, match="has format 2"):
        read_pack(pack)
    manifest_path(pack).write_text('{"model": 1}')
    with pytest.raises(DataError, match="not a pack's manifest"):
        read_pack(pack)
    manifest_path(pack).unlink()
    with pytest.raises(DataError, match="has no manifest"):
        read_pack(pack)


def test_a_pack_of_another_attention_serves_that_attention_alone(corpus: Corpus, tmp_path: Path) -> None:
    """Its keys differ by more than rounding in bfloat16; the usual attention's packs are written as ever."""
    usual, eager, cache = make("llama"), make("llama"), Cache(tmp_path / "measured")
    eager.other_attention = "eager"
    for lm, name in ((usual, "usual.safetensors"), (eager, "eager.safetensors")):
        covariances = key_covariances(lm, [0], corpus, cache=cache, cap=20)
        write_pack(tmp_path / name, lm, covariances, corpus, cache=cache, cap=20)
    written = [json.loads(manifest_path(tmp_path / f"{n}.safetensors").read_text()) for n in ("usual", "eager")]
    assert "attention" not in written[0] and written[1]["attention"] == "eager"
    there = Cache(tmp_path / "there")
    keep_pack(read_pack(tmp_path / "eager.safetensors", lm=eager), there)
    assert cached_covariance(usual, 0, corpus, cache=there, cap=20) is None
    assert cached_covariance(eager, 0, corpus, cache=there, cap=20) is not None


def test_another_model_is_refused(pack: Path) -> None:
    lm = make("llama")
    lm.revision = "another"
    with pytest.raises(DataError, match="is of 'tiny-llama' .*not of 'tiny-llama' .revision another"):
        read_pack(pack, lm=lm)


@pytest.mark.parametrize(
    ("text", "want"), [("5", [5]), ("4-6", [4, 5, 6]), ("7,1-2", [1, 2, 7]), ("all", list(range(8)))]
)
def test_layers(text: str, want: list[int]) -> None:
    assert parse_layers(text, 8) == want


@pytest.mark.parametrize("text", ["8", "x", "4-", "", "6-4"])
def test_wrong_layers(text: str) -> None:
    with pytest.raises(UserError, match="layers"):
        parse_layers(text, 8)


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
    assert "\n# c" not in text and "\u202e" not in text and "`` a`\\|b # c" in text


def test_a_damaged_pack_and_a_model_in_a_folder_are_refused(pack: Path) -> None:
    data = json.loads(manifest_path(pack).read_text(encoding="utf-8"))
    manifest_path(pack).write_text(json.dumps({**data, "model": "/home/me/llama"}), encoding="utf-8")
    with pytest.raises(UserError, match="folder of this machine"):
        pack_files(pack)
    pack.write_bytes(pack.read_bytes()[:-1])
    with pytest.raises(DataError, match="does not agree with its manifest"):
        pack_files(pack)


def test_commands(tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "user"))
    monkeypatch.setattr(LM, "load", classmethod(lambda cls, name, **settings: lm))
    run = CliRunner()
    of = ["--layers", "1-2", "--corpus", str(corpus.paths[0]), "--cap", "20"]
    result = run.invoke(command("model covariance"), ["compute", *of], catch_exceptions=False)
    assert "Second moments of 2 layers over 240 tokens of corpus.txt" in result.output
    assert "little for keys of 48 entries" in result.output
    again = ["compute", *of, "--out", str(tmp_path / "p.safetensors")]
    run.invoke(command("model covariance"), again, catch_exceptions=False)
    output = run.invoke(command("model covariance"), ["show", str(tmp_path / "p.safetensors")], catch_exceptions=False)
    assert "layers 1, 2, keys of 48, 240 tokens of corpus.txt" in output.output
    outcome = run.invoke(command("model covariance"), ["show", "--jsonl"], catch_exceptions=False).output.splitlines()
    assert [json.loads(line)["layer"] for line in outcome] == [1, 2]
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "other"))
    assert "No second moments" in run.invoke(command("model covariance"), ["show"]).output
    run.invoke(
        command("model covariance"), ["load", str(tmp_path / "p.safetensors"), "--model", "x"], catch_exceptions=False
    )
    assert cached_covariance(lm, 1, corpus, cache=Cache(tmp_path / "other"), cap=20) is not None


FACTS = {"model": "m"}
IDENTITY = {"layer": 1, "corpus": "c", "tokens": 5, "dtype": "float32", "cap": None}


@pytest.mark.parametrize(
    "text",
    [b'{"kind": ', b"\xff", b"[]", b"{}", b'{"kind": "key-moments", "facts": 1, "identity": {}}']
    + [
        json.dumps({"kind": "key-moments", "facts": FACTS, "identity": {**IDENTITY, **change}}).encode()
        for change in ({"layer": "first"}, {"tokens": [1]})
    ]
    + [
        json.dumps(
            {"kind": "key-moments", "facts": FACTS, "identity": {k: v for k, v in IDENTITY.items() if k != left_out}}
        ).encode()
        for left_out in ("layer", "tokens")
    ],
)
def test_show_names_the_manifest_that_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path))
    path = tmp_path / f"{KIND}-1.manifest.json"
    path.write_bytes(text.replace(b"key-moments", KIND.encode()))
    error = CliRunner().invoke(command("model covariance"), ["show"]).exception
    assert (
        isinstance(error, DataError)
        and str(error.where).removesuffix(", line 1") == str(path)
        and "\n" not in str(error)
    )


def test_show_passes_over_what_is_of_another_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path))
    (tmp_path / f"{KIND}-1.manifest.json").write_text('{"kind": "other"}')
    assert "No second moments" in CliRunner().invoke(command("model covariance"), ["show"]).output
