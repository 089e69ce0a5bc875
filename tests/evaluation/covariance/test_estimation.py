"""A pass that is broken off goes on to the same sums, bit for bit; states that are damaged count as absent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.covariance import estimation as moments_measure
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.covariance.estimation import PassProgress
from evaluation.models.language_model import LM
from tests.support import ROOT
from tests.support.tiny import make, shuffled


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(moments_measure, "WINDOW", 4)
    monkeypatch.setattr(moments_measure, "EVERY", 0.0)
    monkeypatch.setattr(moments_measure, "SPARING", 0.0)
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(22)), encoding="utf-8")
    return Corpus([path])


class _Killed(Exception):
    """Stands for the end of the process: nothing of the pass handles it."""


def broken_off(after: int) -> Any:
    def tell(done: PassProgress) -> None:
        if done.documents >= after:
            raise _Killed

    return tell


def passes(lm: LM, corpus: Corpus, cache: Cache) -> tuple[list[PassProgress], dict[int, Any]]:
    messages: list[PassProgress] = []
    return messages, key_covariances(lm, [0, 2], corpus, cache=cache, cap=20, on_progress=messages.append)


@pytest.mark.parametrize("after", [[1], [8], [4, 9, 21], [22]])
def test_goes_on_where_it_was_broken_off(after: list[int], corpus: Corpus, tmp_path: Path) -> None:
    lm = make("llama")
    _, want = passes(lm, corpus, Cache(tmp_path / "whole"))
    cache = Cache(tmp_path / "parts")
    for end in after:
        with pytest.raises(_Killed):
            key_covariances(lm, [0, 2], corpus, cache=cache, cap=20, on_progress=broken_off(end))
    notes, statistics = passes(lm, corpus, cache)
    count = 4 * ((max(after) - 1) // 4)  # the window that was being told of when it broke off is lost
    assert notes[0].documents == count
    for layer in (0, 2):
        assert (
            torch.equal(statistics[layer].second, want[layer].second) and statistics[layer].tokens == want[layer].tokens
        )
    assert not list(cache.folder.glob("moments-partial*"))


def test_a_damaged_state_leaves_the_one_before(corpus: Corpus, tmp_path: Path) -> None:
    lm, cache = make("llama"), Cache(tmp_path / "cache")
    with pytest.raises(_Killed):
        key_covariances(lm, [1], corpus, cache=cache, on_progress=broken_off(16))
    states = sorted(cache.folder.glob("moments-partial*.safetensors"), key=lambda p: p.stat().st_mtime_ns)
    assert len(states) == 2
    states[-1].write_bytes(states[-1].read_bytes()[:-8])
    messages: list[PassProgress] = []
    key_covariances(lm, [1], corpus, cache=cache, on_progress=messages.append)
    assert messages[0].documents == 8
    states[0].write_bytes(b"")
    assert torch.equal(
        key_covariances(lm, [1], corpus, cache=cache)[1].second,
        key_covariances(lm, [1], corpus, cache=Cache(tmp_path / "other"))[1].second,
    )


def test_tells_how_far_it_is(corpus: Corpus, tmp_path: Path) -> None:
    notes, _ = passes(make("gpt2"), corpus, Cache(tmp_path))
    assert [t.documents for t in notes] == [0, 4, 8, 12, 16, 20, 22]
    assert notes[0].share == 0 and notes[0].seconds_left is None
    assert notes[-1].share == 1 and notes[-1].seconds_left == 0
    assert all(t.seconds_left is not None and t.seconds_left > 0 for t in notes[1:-1])
    assert notes[-1].tokens == 22 * 20


SCRIPT = """
import sys
from pathlib import Path
import os, signal
sys.path.insert(0, {root!r})
from evaluation.covariance import estimation as moments_measure
from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from tests.support.tiny import make
moments_measure.WINDOW, moments_measure.EVERY, moments_measure.SPARING = 4, 0.0, 0.0
def tell(done):
    if done.documents >= 12:
        os.kill(os.getpid(), signal.SIGKILL)
text, cache = Corpus([Path({corpus!r})]), Cache(Path({cache!r}))
key_covariances(make("llama"), [0, 2], text, cache=cache, cap=20, on_progress=tell)
"""


@pytest.mark.slow
def test_killed_for_good(corpus: Corpus, tmp_path: Path) -> None:
    root = ROOT
    code = SCRIPT.format(root=str(root), corpus=str(corpus.paths[0]), cache=str(tmp_path / "parts"))
    process = subprocess.run([sys.executable, "-c", code], cwd=root, env=os.environ, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    notes, statistics = passes(make("llama"), corpus, Cache(tmp_path / "parts"))
    _, want = passes(make("llama"), corpus, Cache(tmp_path / "whole"))
    assert notes[0].documents == 8
    assert all(torch.equal(statistics[n].second, want[n].second) for n in (0, 2))
