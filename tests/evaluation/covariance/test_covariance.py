from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.covariance import covariance as estimation
from evaluation.covariance import covariance as moments
from evaluation.covariance.covariance import (
    Corpus,
    PassProgress,
    RunningSums,
    cached_covariance,
    key_covariances,
    layers_a_pass,
)
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.core.ids import digest
from tests.support.fake_device import fake_gpu
from tests.support.tiny import TEXT, make, shuffled


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(TEXT), encoding="utf-8")
    return Corpus([path])


@torch.no_grad()
def naive(lm: LM, layer: int, *, cap: int) -> tuple[torch.Tensor, int]:
    """Every document alone, its keys caught by PyTorch's own hook, one outer product a token."""
    keys: list[torch.Tensor] = []
    hook = lm.projection(layer).register_forward_pre_hook(lambda module, inputs: keys.extend(inputs[0][0].double()))
    for text in TEXT:
        lm.model(torch.tensor([lm.tokenizer(text)["input_ids"][:cap]]))
    hook.remove()
    return torch.stack([torch.outer(key, key) for key in keys]).mean(0), len(keys)


@pytest.mark.parametrize("cap", [7, None])
@pytest.mark.parametrize("batch_tokens", [1, 50, 5000])
def test_equals_the_naive_loop(tiny: LM, corpus: Corpus, cache: Cache, cap: int | None, batch_tokens: int) -> None:
    covariances = key_covariances(tiny, [2, 0], corpus, cache=cache, cap=cap, batch_tokens=batch_tokens)
    for layer in (0, 2):
        want, count = naive(tiny, layer, cap=cap or 96)
        assert covariances[layer].tokens == count
        assert torch.allclose(covariances[layer].second.double(), want, rtol=1e-4, atol=1e-5)


def test_measured_once(tiny: LM, corpus: Corpus, cache: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = key_covariances(tiny, [1], corpus, cache=cache)[1]
    measurements: list[list[int]] = []
    real = moments.measure

    def spy(lm: LM, layers: list[int], corpus: Corpus, **settings: Any) -> Any:
        measurements.append(layers)
        return real(lm, layers, corpus, **settings)

    monkeypatch.setattr(moments, "measure", spy)
    repeat = key_covariances(tiny, [1], corpus, cache=cache)[1]
    assert measurements == [] and torch.equal(first.second, repeat.second) and first.tokens == repeat.tokens
    key_covariances(tiny, [1, 2], corpus, cache=cache)
    assert measurements == [[2]]
    key_covariances(tiny, [1], corpus, cache=cache, cap=5)
    tiny.revision = "another"
    key_covariances(tiny, [1], corpus, cache=cache)
    other = tmp_path / "other.txt"
    other.write_text("Another text.")
    assert cached_covariance(tiny, 1, Corpus([other]), cache=cache) is None
    key_covariances(tiny, [1], Corpus([other]), cache=cache)
    assert measurements == [[2], [1], [1], [1]]
    for file in cache.folder.glob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:-1])
    key_covariances(tiny, [1], corpus, cache=cache)
    assert len(measurements) == 5


def test_corpora(tmp_path: Path) -> None:
    plain, lines = tmp_path / "a.txt", tmp_path / "b.jsonl"
    plain.write_text("One.\nStill one.\r\n\r\nTwo.\n\n\n\nThree.\n")
    lines.write_text("".join(json.dumps({"text": t}) + "\n" for t in ("Four.\n\nStill four.", "Five.", " ")))
    corpus = Corpus([plain, lines])
    want = ["One.\nStill one.", "Two.", "Three.", "Four.\n\nStill four.", "Five."]
    assert list(corpus.stream()) == want
    assert corpus.count == 5
    assert corpus.digest == digest(want) == Corpus([plain, lines]).digest != Corpus([plain]).digest
    lines.write_text('{"text": "Six."}\n')
    assert list(Corpus([plain, lines]).stream())[3:] == ["Six."] and Corpus([plain, lines]).digest != corpus.digest


BAD = {
    "missing": (None, "no such corpus file"),
    "a.txt": (b"\n\n \n", "holds no text"),
    "b.txt": (b"\xff\xfe\x00", "not UTF-8 text but UTF-16"),
    "c.jsonl": (b'{"text": "x"}\n{"txt": 1}\n', "c.jsonl, line 2: no JSON object with a 'text'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_corpora(tmp_path: Path, name: str) -> None:
    data, message = BAD[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=message):
        Corpus([tmp_path / name])


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


CUDA = torch.device("cuda:0")


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(moments, "WINDOW", 4)
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
def test_the_device_measures_what_the_cpu_does(dtype: torch.dtype, windows: Corpus, tmp_path: Path) -> None:
    want = key_covariances(make("llama", dtype=dtype), [0, 2], windows, cache=Cache(tmp_path / "cpu"))
    with fake_gpu() as machine:
        lm = make("llama", dtype=dtype)
        lm.model.to("cuda")
        got = key_covariances(lm, [0, 2], windows, cache=Cache(tmp_path / "cuda"))
        assert not machine.counts.refused
    for layer in (0, 2):
        assert got[layer].tokens == want[layer].tokens and got[layer].second.device.type == "cpu"
        assert torch.allclose(got[layer].second, want[layer].second, rtol=1e-5, atol=1e-7)


def test_layers_beyond_the_memory_have_their_own_pass(
    windows: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lm = make("llama")
    want = key_covariances(lm, [0, 1, 2], windows, cache=Cache(tmp_path / "whole"))
    monkeypatch.setattr(moments, "HOST_BYTES", 2 * 8 * lm.layout.inner**2)
    assert list(layers_a_pass(lm, [0, 1, 2])) == [[0, 1], [2]]
    got = key_covariances(lm, [0, 1, 2], windows, cache=Cache(tmp_path / "parts"))
    assert all(torch.equal(got[n].second, want[n].second) for n in want)
    assert "passes of 2" in caplog.text
    monkeypatch.setattr(moments, "HOST_BYTES", 2**40)
    own = sum(p.numel() * p.element_size() for p in lm.model.parameters())
    with fake_gpu(memory=own + 3 * 4 * lm.layout.inner**2):
        lm.model.to("cuda")
        assert list(layers_a_pass(lm, [0, 1, 2])) == [[0], [1], [2]], "half of what is free is one sum"
