"""A corpus and a pack of its covariances."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.covariance.pack import write_pack
from tests.support.tiny import make, shuffled


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(12)), encoding="utf-8")
    return Corpus([path])


@pytest.fixture
def pack(tmp_path: Path, corpus: Corpus) -> Path:
    lm, cache = make("llama"), Cache(tmp_path / "here")
    covariances = key_covariances(lm, [0, 2], corpus, cache=cache, cap=20)
    path = tmp_path / "packs" / "tiny.safetensors"
    manifest = write_pack(path, lm, covariances, corpus, cache=cache, cap=20)
    assert (manifest.layers, manifest.cap, manifest.documents) == ((0, 2), 20, 12)
    return path
