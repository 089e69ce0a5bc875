from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KIND, Corpus, cached_covariance
from evaluation.models.language_model import LM
from schemas.core.errors import DataError
from tests.support.commands import command
from tests.support.editors import packs
from tests.support.tiny import make

corpus = packs.corpus


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
        for change in ({"layer": None}, {"layer": "first"}, {"tokens": "many"}, {"tokens": [1]})
    ]
    + [
        json.dumps(
            {"kind": "key-moments", "facts": FACTS, "identity": {k: v for k, v in IDENTITY.items() if k != left_out}}
        ).encode()
        for left_out in IDENTITY
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
