"""Where methods get their second moments: a corpus, a ready file, a pack; and what a run's identity says of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.covariance.pack import manifest_path
from evaluation.editors.locate_edit.options import CovarianceParams, moments_digest, obtain_moments
from schemas.core.errors import DataError, UserError
from tests.support.editors import packs
from tests.support.tiny import make, shuffled

corpus = packs.corpus
pack = packs.pack


def test_a_corpus_is_measured_once_and_capped(corpus: Corpus, tmp_path: Path) -> None:
    lm, cache, path = make("llama"), Cache(tmp_path / "cache"), tmp_path / "corpus.txt"
    covariance = obtain_moments(CovarianceParams(corpus=str(path), cap=20), lm, [2, 0], cache=cache)
    want = key_covariances(lm, [0, 2], corpus, cache=Cache(tmp_path / "other"), cap=20)
    assert (
        set(covariance) == {0, 2}
        and covariance[0].tokens
        == want[0].tokens
        < obtain_moments(CovarianceParams(corpus=str(path)), lm, [0], cache=cache)[0].tokens
    )
    for n in (0, 2):
        assert torch.equal(covariance[n].second, want[n].second)
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*") if file.is_file()}
    repeat = obtain_moments(CovarianceParams(corpus=str(path), cap=20), lm, [2], cache=cache)
    assert torch.equal(repeat[2].second, want[2].second)
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*") if file.is_file()} == files


@pytest.mark.parametrize(("documents", "warned"), [(2, True), (40, False)])
def test_few_tokens_are_called_noisy(
    documents: int, warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(documents)), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        (value,) = obtain_moments(
            CovarianceParams(corpus=str(path)), make("llama"), [1], cache=Cache(tmp_path)
        ).values()
    assert (value.tokens < 10 * 48) == warned
    assert any("noisy" in r.getMessage() and str(value.tokens) in r.getMessage() for r in caplog.records) == warned


def test_a_ready_file_is_read_and_no_corpus_opened(pack: Path, corpus: Corpus, tmp_path: Path) -> None:
    lm, cache = make("llama"), Cache(tmp_path / "none")
    want = key_covariances(lm, [0, 2], corpus, cache=Cache(tmp_path / "here"), cap=20)
    source = CovarianceParams(corpus="no/such/corpus.txt", moments=str(pack))
    covariance = obtain_moments(source, lm, [2, 0], cache=cache)
    assert all(torch.equal(covariance[n].second, want[n].second) for n in (0, 2))
    assert not list((tmp_path / "none").rglob("*.safetensors")), "nothing was measured"


def test_what_does_not_fit_is_refused(pack: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with pytest.raises(DataError, match=r"lacks layers \[1\]"):
        obtain_moments(CovarianceParams(moments=str(pack)), make("llama"), [0, 1], cache=cache)
    with pytest.raises(DataError, match="model"):
        obtain_moments(CovarianceParams(moments=str(pack)), make("gpt2"), [0], cache=cache)
    with pytest.raises(UserError, match="nothing.txt"):
        obtain_moments(CovarianceParams(corpus=str(tmp_path / "nothing.txt")), make("llama"), [0], cache=cache)


def test_the_identity_follows_the_content_and_not_the_name(pack: Path, tmp_path: Path) -> None:
    one, two, three = (tmp_path / f"{name}.txt" for name in ("one", "two", "three"))
    for path, text in ((one, "A town. A road."), (two, "A town. A road."), (three, "A town. A river.")):
        path.write_text(text)
    digests = [moments_digest(CovarianceParams(corpus=str(path))) for path in (one, two, three)]
    assert digests[0] == digests[1] != digests[2] and set(digests[0]) == {"corpus"}
    report = json.loads(manifest_path(pack).read_text())["sha256"]
    assert moments_digest(CovarianceParams(corpus="no/such", moments=str(pack))) == {"moments": report}
