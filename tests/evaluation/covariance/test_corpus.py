"""How corpora are named, and what the hub's client is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.covariance import corpus as moments_corpus
from evaluation.covariance.corpus import Corpus, HubCorpus, open_corpus
from schemas.core.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_names(tmp_path: Path) -> None:
    assert open_corpus(None).digest == Corpus.shipped().digest
    (tmp_path / "a.txt").write_text("One.")
    (tmp_path / "b.txt").write_text("Two.")
    assert open_corpus(str(tmp_path / "a.txt")).digest == Corpus([tmp_path / "a.txt"]).digest
    both = open_corpus([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    assert list(both.stream()) == ["One.", "Two."] and both.name == "a.txt, b.txt"
    with pytest.raises(UserError, match="not both"):
        open_corpus([str(tmp_path / "a.txt"), "hub:x/y"])


def test_hub_names() -> None:
    full, bare = HubCorpus(f"hub:a/b:en:test:body@{COMMIT}#50"), HubCorpus(f"hub:b@{COMMIT}")
    assert (full.dataset, full.config, full.split, full.column, full.count) == ("a/b", "en", "test", "body", 50)
    assert (bare.dataset, bare.config, bare.split, bare.column, bare.count) == ("b", None, "train", "text", None)
    assert HubCorpus(f"hub:a/b::test@{COMMIT}").config is None and full.revision == COMMIT
    for wrong in ("hub:", "hub:a#b", "hub:a:b:c:d:e", "a/b"):
        with pytest.raises(UserError, match="names no dataset of the hub; allowed: hub:NAME"):
            HubCorpus(wrong)


def test_a_given_commit_needs_no_network() -> None:
    corpus = HubCorpus(f"hub:a/b@{COMMIT}#50")
    assert corpus.count == 50
    others = [f"hub:a/c@{COMMIT}#50", f"hub:a/b@{COMMIT}#51", f"hub:a/b@{COMMIT}", f"hub:a/b:x@{COMMIT}#50"]
    assert len({corpus.digest, *(HubCorpus(name).digest for name in others)}) == 5


def test_offline_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx
    import huggingface_hub

    def offline(*args: object, **more: object) -> None:
        raise httpx.ConnectError("[Errno -2] Name or service not known")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", offline)
    with pytest.raises(UserError, match=r"a/b: the dataset cannot be had .*not known; go online, or name a local text"):
        open_corpus("hub:a/b")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    rows = [{"text": f"Document {n}.", "id": n} for n in range(7)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_documents_are_streamed(dataset: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(moments_corpus, "_commit", lambda *_: COMMIT)
    corpus = HubCorpus(f"hub:{dataset}#5")
    assert list(corpus.stream()) == [f"Document {n}." for n in range(5)]
    with pytest.raises(UserError, match="no text column 'body'; allowed: text, id"):
        list(HubCorpus(f"hub:{dataset}::train:body").stream())
    with pytest.raises(UserError, match="cannot be had from the hub"):
        list(HubCorpus(f"hub:{dataset}::nosplit").stream())
