"""Float32 sums of a CUDA device stay beside float64 ones; they take bounded memory, and narrow keys are not rounded."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.covariance import covariance as running_sums
from evaluation.covariance.corpus import Corpus
from evaluation.covariance.covariance import RunningSums, key_covariances, layers_a_pass
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make, shuffled

CUDA = torch.device("cuda:0")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(running_sums, "WINDOW", 4)
    (tmp_path / "corpus.txt").write_text("\n\n".join(shuffled(22)), encoding="utf-8")
    return Corpus([tmp_path / "corpus.txt"])


def keys_of(tokens: int, inner: int, dtype: torch.dtype) -> torch.Tensor:
    """Keys of very unequal size, as those of a model are."""
    draw = torch.Generator().manual_seed(0)
    return (torch.randn(tokens, inner, generator=draw) * torch.logspace(-2, 1, inner)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_float32_sums_against_float64(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """512 batches in one stretch, as in a real one: within 1e-5 of each entry's scale, and settled sums are float64."""
    keys = keys_of(512 * 16, 24, dtype)
    exact = keys.double().T @ keys.double()
    scale = exact.diagonal().sqrt()[:, None] * exact.diagonal().sqrt()
    with fake_gpu():
        running = RunningSums({0: torch.zeros(24, 24, dtype=torch.float64)})
        for batch in keys.split(16):
            running.add(0, batch.to(CUDA))
            running.count(len(batch))
        assert running.stretch == len(keys) and not running.totals[0].any(), "nothing came home yet"
        running.settle()
    gap = ((running.totals[0] - exact).abs() / scale).max()
    assert running.stretch == 0 and gap < 1e-5, float(gap)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_device_measures_what_the_cpu_does(dtype: torch.dtype, corpus: Corpus, tmp_path: Path) -> None:
    want = key_covariances(make("llama", dtype=dtype), [0, 2], corpus, cache=Cache(tmp_path / "cpu"))
    with fake_gpu() as machine:
        lm = make("llama", dtype=dtype)
        lm.model.to("cuda")
        got = key_covariances(lm, [0, 2], corpus, cache=Cache(tmp_path / "cuda"))
        assert not machine.counts.refused
    for layer in (0, 2):
        assert got[layer].tokens == want[layer].tokens and got[layer].second.device.type == "cpu"
        assert torch.allclose(got[layer].second, want[layer].second, rtol=1e-5, atol=1e-7)


def test_layers_beyond_the_memory_have_their_own_pass(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lm = make("llama")
    want = key_covariances(lm, [0, 1, 2], corpus, cache=Cache(tmp_path / "whole"))
    monkeypatch.setattr(running_sums, "HOST_BYTES", 2 * 8 * lm.layout.inner**2)
    assert list(layers_a_pass(lm, [0, 1, 2])) == [[0, 1], [2]]
    got = key_covariances(lm, [0, 1, 2], corpus, cache=Cache(tmp_path / "parts"))
    assert all(torch.equal(got[n].second, want[n].second) for n in want)
    assert "passes of 2" in caplog.text
    monkeypatch.setattr(running_sums, "HOST_BYTES", 2**40)
    own = sum(p.numel() * p.element_size() for p in lm.model.parameters())
    with fake_gpu(memory=own + 3 * 4 * lm.layout.inner**2):
        lm.model.to("cuda")
        assert list(layers_a_pass(lm, [0, 1, 2])) == [[0], [1], [2]], "half of what is free is one sum"
