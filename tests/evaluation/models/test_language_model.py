"""The scorer against a slow twin (one sequence at a time, no batch), boundaries, errors as values, loading."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluation.inference import scoring
from evaluation.inference.scoring import score, straddling
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError
from schemas.probes import ScoreProbe
from tests.support.tiny import CONFIGS, make, tokenizer


def probe(prompt: str, *targets: str, separator: str = " ") -> ScoreProbe:
    return ScoreProbe(purpose="fact", item="i", prompt=prompt, targets=targets, separator=separator)


PROBES = [
    probe("The capital of Peru is", "Oslo", "Lima"),
    probe("The capital of Peru is", "São Tomé and Príncipe", "Lima"),
    probe("Norway is a kingdom. Step 1: Book a flight. Step 2: Fly to", "Oslo", "Paris", "the north of the north"),
    probe("She said", 'Lima"', "Oslo", separator=' "'),
    probe("Step 2: Fly to Lima", "Peru", "Norway", separator=" ("),
    probe("Step 1:", "Lima", "Oslo", separator="\n"),
    probe("A city is", "Quito"),
    probe("The head", "quarters", "line", separator=""),
]


@torch.no_grad()
def slow(lm: LM, asked: ScoreProbe) -> list[tuple[float, int]]:
    """Every target as its own unpadded sequence, whole logits, one token after the other."""
    out = []
    for target in asked.targets:
        text = asked.prompt + asked.separator + target
        enc = lm.tokenizer(text, return_offsets_mapping=True)
        ids, begin = enc["input_ids"], len(text) - len(target)
        first = next(i for i, (_, end) in enumerate(enc["offset_mapping"]) if end > begin)
        logits = lm.model(input_ids=torch.tensor([ids])).logits[0].double()
        total = sum(float(logits[i - 1].log_softmax(-1)[ids[i]]) for i in range(first, len(ids)))
        out.append((total, len(ids) - first))
    return out


@pytest.mark.parametrize("batch_tokens", [1, 40, 4096])
@pytest.mark.parametrize("kind", CONFIGS)
def test_equals_the_slow_twin(kind: str, batch_tokens: int) -> None:
    lm = make(kind)
    answers = score(lm, PROBES, batch_tokens=batch_tokens)
    for asked, answer in zip(PROBES, answers, strict=True):
        assert answer.error is None and answer.probe == asked.id and not answer.truncated
        for got, (total, tokens), text in zip(answer.targets, slow(lm, asked), asked.targets, strict=True):
            assert got.text == text and got.tokens == tokens
            assert got.logprob == pytest.approx(total, abs=1e-4)


def test_models_without_positions_or_plain_head_score_alike() -> None:
    from dataclasses import replace

    lm = make("llama")
    usual = score(lm, PROBES)
    for change in ({"positions": False}, {"plain_head": False}):
        lm.layout = replace(make("llama").layout, **change)
        for a, b in zip(usual, score(lm, PROBES), strict=True):
            assert [t.logprob for t in a.targets] == pytest.approx([t.logprob for t in b.targets], abs=1e-4)


def test_targets_share_the_prompts_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    tokens = []
    pad = lm.pad
    monkeypatch.setattr(lm, "pad", lambda rows: tokens.extend(map(len, rows)) or pad(rows))
    asked = probe("Norway is a kingdom in the north. The capital of Norway is", "Lima", "Lima Lima")
    score(lm, [asked])
    prompt = lm.encode(asked.prompt, "Lima").first
    assert sum(tokens) < prompt + 12  # the prompt once, then only the rest of each target


def test_rewrite_comes_first_and_equal_probes_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("gpt2")
    asked = probe("The capital of Peru is", "Oslo", "Lima")
    long = asked.model_copy(update={"prompt": "Oslo is a city. " + asked.prompt})
    got, again = score(lm, [asked, asked], rewrite=lambda p: "Oslo is a city. " + p)
    want = score(lm, [long])[0]
    assert got == again and got.probe == asked.id
    assert [t.logprob for t in got.targets] == pytest.approx([t.logprob for t in want.targets], abs=1e-5)
    runs = []
    monkeypatch.setattr(scoring, "_run", lambda lm, batch: runs.extend(batch) or iter(()))
    score(lm, [asked, asked.model_copy(update={"purpose": "paraphrase"})])
    assert len(runs) == 1


@pytest.mark.parametrize("bos", [False, True])
def test_start_token_is_the_tokenizers_affair(bos: bool) -> None:
    lm = make("llama", bos=bos)
    text = lm.encode("The capital of Peru is", "Lima")
    assert (text.ids[0] == 0) is bos and text.specials == int(bos)
    assert lm.tokenizer.decode(list(text.target)).strip() == "Lima"


def test_straddling_tokens_are_counted() -> None:
    lm = make("gpt2")
    whole = lm.tokenizer("capital")["input_ids"]
    assert len(whole) < len("capital")  # the tokenizer has merged it
    cut = probe("The cap", "ital", separator="")
    assert straddling(lm, [cut, probe("The capital is", "Lima")]) == 1
    assert score(lm, [cut])[0].error is None


def test_long_prompts_lose_their_front_and_say_so() -> None:
    lm = make("llama")
    asked = probe("Peru " * 200 + "The capital of Peru is", "Lima", "São Tomé")
    answer = score(lm, [asked])[0]
    assert answer.truncated and answer.error is None
    ids = lm.encode(asked.prompt, "São Tomé").ids
    ids = (ids[0], *ids[len(ids) - lm.limit + 1 :])  # the start token stays
    logprobs = lm.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    count = answer.targets[1].tokens
    want = sum(float(logprobs[i - 1, ids[i]]) for i in range(len(ids) - count, len(ids)))
    assert answer.targets[1].logprob == pytest.approx(want, abs=1e-4)


ERRORS = {
    "target longer than the model": (probe("Fly to", "Lima " * 200 + "x", "Oslo"), "target alone is longer"),
    "nothing before the target": (probe("", "Lima", separator=""), "no token stands before"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_values(name: str) -> None:
    asked, message = ERRORS[name]
    lm = make("gpt2")
    good = PROBES[0]
    bad, fine = score(lm, [asked, good])
    assert message in (bad.error or "") and bad.targets == ()
    assert fine == score(lm, [good])[0]


def test_infinite_numbers_are_an_error() -> None:
    lm = make("gpt2")
    with torch.no_grad():
        lm.projection(0).weight.fill_(torch.nan)
    assert score(lm, [PROBES[0]])[0].error == "the model's log-probabilities are not finite"


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
    lm.model.save_pretrained(tmp_path / "m")
    lm.tokenizer.save_pretrained(tmp_path / "m")
    again = LM.load(str(tmp_path / "m"), device="cpu")
    assert score(again, PROBES) == score(lm, PROBES)
    assert again.name == str(tmp_path / "m") and again.limit == 96
    half = LM.load(str(tmp_path / "m"), device="cpu", dtype="bfloat16")
    assert half.dtype == torch.bfloat16 and half.revision == again.revision
    with torch.no_grad():
        lm.projection(0).weight.mul_(1.5)
    lm.model.save_pretrained(tmp_path / "m")
    assert LM.load(str(tmp_path / "m"), device="cpu").revision != again.revision


def test_refused_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="no readable model"):
        LM.load(str(tmp_path / "empty"), device="cpu")
    with pytest.raises(ModelError, match="cannot be loaded"):
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


def test_tokenizer_is_trained_here() -> None:
    assert 300 < len(tokenizer(False)) <= 400


@pytest.mark.model
def test_embedded_model_is_plain_float32(embedded: LM) -> None:
    assert embedded.dtype == torch.float32 and embedded.name == "embedded"
    assert not hasattr(embedded.model.config, "quantization_config")
    layout = embedded.layout
    assert (layout.depth, layout.width, layout.inner, layout.plain_head) == (30, 576, 1536, True)
    again = LM.load("embedded", device="cpu")
    assert again.revision == embedded.revision and again.weights_digest() == embedded.weights_digest()
    capital = probe("The capital of France is", "Paris", "Rome")
    paris, rome = score(embedded, [capital])[0].targets
    assert paris.logprob > rome.logprob + 2
    for got, (total, tokens) in zip((paris, rome), slow(embedded, capital), strict=True):
        assert got.tokens == tokens and got.logprob == pytest.approx(total, abs=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_equals_cpu() -> None:
    lm = make("llama")
    want = score(lm, PROBES)
    lm.model.to("cuda")
    for a, b in zip(want, score(lm, PROBES), strict=True):
        assert [t.logprob for t in a.targets] == pytest.approx([t.logprob for t in b.targets], abs=1e-3)
