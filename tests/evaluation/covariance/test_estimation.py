"""How far a pass is, as it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.covariance import covariance as estimation
from evaluation.covariance.covariance import Corpus, PassProgress, key_covariances
from tests.support.tiny import make, shuffled


def test_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "WINDOW", 4)
    path, notes = tmp_path / "corpus.txt", list[PassProgress]()
    path.write_text("\n\n".join(shuffled(22)), encoding="utf-8")
    key_covariances(make("gpt2"), [0, 2], Corpus([path]), cache=Cache(tmp_path), cap=20, on_progress=notes.append)
    assert [t.documents for t in notes] == [0, 4, 8, 12, 16, 20, 22]
    assert notes[0].share == 0 and notes[0].seconds_left is None
    assert notes[-1].share == 1 and notes[-1].seconds_left == 0
    assert all(t.seconds_left is not None and t.seconds_left > 0 for t in notes[1:-1])
    assert notes[-1].tokens == 22 * 20
