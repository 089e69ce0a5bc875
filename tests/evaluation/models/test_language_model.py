"""The scorer against a slow reference (one sequence at a time, no batch), boundaries, errors as values, loading."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError
from tests.support.evaluation.slow_scoring import PROBES, probe, slow
from tests.support.evaluation.tiny_runs import saved
from tests.support.tiny import make


@pytest.mark.parametrize("bos", [False, True])
def test_start_token_is_the_tokenizers_affair(bos: bool) -> None:
    lm = make("llama", bos=bos)
    text = lm.encode("The capital of Peru is", "Lima")
    assert (text.ids[0] == 0) is bos and text.specials == int(bos)
    assert lm.tokenizer.decode(list(text.target)).strip() == "Lima"


def test_digest_sees_one_bit() -> None:
    lm = make("llama")
    before = lm.weights_digest()
    assert before == make("llama").weights_digest()
    with torch.no_grad():
        lm.model.get_parameter("model.norm.weight")[3] *= 1 + 2**-23
    assert lm.weights_digest() != before


def test_load_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    lm = make("gpt2")
    second_lm = LM.load(str(saved(lm, tmp_path / "m")), device="cpu")
    assert score(second_lm, PROBES) == score(lm, PROBES)
    assert second_lm.name == str(tmp_path / "m") and second_lm.limit == 96
    half = LM.load(str(tmp_path / "m"), device="cpu", dtype="bfloat16")
    assert half.dtype == torch.bfloat16 and half.revision == second_lm.revision
    with torch.no_grad():
        lm.projection(0).weight.mul_(1.5)
    lm.model.save_pretrained(tmp_path / "m")
    assert LM.load(str(tmp_path / "m"), device="cpu").revision != second_lm.revision


def test_refused_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="no readable model"):
        LM.load(str(tmp_path / "empty"), device="cpu")
    with pytest.raises(ModelError, match="there is no such folder"):
        LM.load(str(tmp_path / "nowhere"), device="cpu")
    with pytest.raises(ModelError, match="unknown dtype 'int8'"):
        LM.load("embedded", dtype="int8")
    with pytest.raises(ModelError, match="unknown device 'quantum'"):
        LM.load("embedded", device="quantum")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_no_cuda() -> None:
    with pytest.raises(ModelError, match="no CUDA device"):
        LM.load("embedded", device="cuda")


def test_slow_tokenizer_refused() -> None:
    class Slow:
        is_fast = False

    lm = make("gpt2")
    with pytest.raises(ModelError, match="no character offsets"):
        LM(lm.model, Slow(), name="x", revision="1")


@pytest.mark.model
def test_embedded_model_is_plain_float32(embedded: LM) -> None:
    assert embedded.dtype == torch.float32 and embedded.name == "embedded"
    assert not hasattr(embedded.model.config, "quantization_config")
    layout = embedded.layout
    assert (layout.depth, layout.width, layout.inner, layout.plain_head) == (30, 576, 1536, True)
    second_lm = LM.load("embedded", device="cpu")
    assert second_lm.revision == embedded.revision and second_lm.weights_digest() == embedded.weights_digest()
    capital = probe("The capital of France is", "Paris", "Rome")
    paris, rome = score(embedded, [capital])[0].targets
    assert paris.logprob > rome.logprob + 2
    for value, (total, tokens) in zip((paris, rome), slow(embedded, capital), strict=True):
        assert value.tokens == tokens and value.logprob == pytest.approx(total, abs=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_equals_cpu() -> None:
    lm = make("llama")
    want = score(lm, PROBES)
    lm.model.to("cuda")
    for a, b in zip(want, score(lm, PROBES), strict=True):
        assert [t.logprob for t in a.targets] == pytest.approx([t.logprob for t in b.targets], abs=1e-3)
