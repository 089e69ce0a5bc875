"""The scorer against a slow reference, one sequence at a time."""

from __future__ import annotations

import pytest
import torch

from evaluation.inference.answering import write
from evaluation.inference.scoring import score
from schemas.answers import Answer
from schemas.probes import GenerateProbe
from tests.support.evaluation.slow_scoring import PROBES, asking, greedy_probe, probe, slow, slow_answer
from tests.support.tiny import CONFIGS, make


@pytest.mark.parametrize(("kind", "batch_tokens"), [("llama", 1), ("gpt2", 4096), *((kind, 40) for kind in CONFIGS)])
def test_equals_the_slow_twin(kind: str, batch_tokens: int) -> None:
    lm = make(kind)
    answers = score(lm, PROBES, batch_tokens=batch_tokens)
    for requests, answer in zip(PROBES, answers, strict=True):
        assert answer.error is None and answer.probe == requests.id and not answer.truncated
        for value, (total, tokens), text in zip(answer.targets, slow(lm, requests), requests.targets, strict=True):
            assert value.text == text and value.tokens == tokens
            assert value.logprob == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_greedy_equals_the_slow_twin_and_what_the_model_writes(kind: str) -> None:
    lm = make(kind)
    probes = [asking(p, greedy=True) for p in (greedy_probe(lm), *PROBES)]
    answers = score(lm, probes)
    greedy_answers = [[t.greedy for t in a.targets] for a in answers]
    assert greedy_answers == [[t.greedy for t in slow_answer(lm, lm.model, p).targets] for p in probes]
    assert greedy_answers[0] == [True, True, False] and not all(map(any, greedy_answers[1:]))
    plain = score(lm, [asking(p, greedy=False) for p in probes])
    assert {t.greedy for a in plain for t in a.targets} == {None}
    for one, other in zip(answers, plain, strict=True):
        assert [t.logprob for t in one.targets] == [t.logprob for t in other.targets]
        assert one.probe != other.probe


def test_models_without_positions_or_plain_head_score_alike() -> None:
    from dataclasses import replace

    lm = make("llama")
    usual = score(lm, PROBES)
    for change in ({"positions": False}, {"plain_head": False}):
        lm.layout = replace(make("llama").layout, **change)
        for a, b in zip(usual, score(lm, PROBES), strict=True):
            assert [t.logprob for t in a.targets] == pytest.approx([t.logprob for t in b.targets], abs=1e-4)


def test_rewrite_comes_first_and_equal_probes_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("gpt2")
    probes = probe("The capital of Peru is", "Oslo", "Lima")
    long = probes.model_copy(update={"prompt": "Oslo is a city. " + probes.prompt})
    scores, repeat = score(lm, [probes, probes], rewrite=lambda p: "Oslo is a city. " + p)
    want = score(lm, [long])[0]
    assert scores == repeat and scores.probe == probes.id
    assert [t.logprob for t in scores.targets] == pytest.approx([t.logprob for t in want.targets], abs=1e-5)
    rows: list[int] = []
    pad = lm.pad
    monkeypatch.setattr(lm, "pad", lambda ids: rows.append(len(ids)) or pad(ids))
    score(lm, [probes, probes.model_copy(update={"purpose": "paraphrase"})])
    assert sum(rows) == len(probes.targets)


def test_targets_that_share_a_token_with_the_prompt_are_counted_and_scored(caplog: pytest.LogCaptureFixture) -> None:
    lm = make("gpt2")
    input_ids = lm.tokenizer("capital")["input_ids"]
    assert len(input_ids) < len("capital")  # the tokenizer has merged it
    cut = probe("The cap", "ital", separator="")
    with caplog.at_level("INFO", logger="evaluation.inference.scoring"):
        assert [a.error for a in score(lm, [cut, probe("The capital is", "Lima")])] == [None, None]
        (line,) = [r.getMessage() for r in caplog.records if "share their first token" in r.getMessage()]
        assert line.startswith("1 targets")
        caplog.clear()
        score(lm, [probe("The capital is", "Lima")])
    assert not caplog.records


def test_long_prompts_lose_their_front_and_say_so() -> None:
    lm = make("llama")
    probes = probe("Peru " * 200 + "The capital of Peru is", "Lima", "São Tomé")
    answer = score(lm, [probes])[0]
    assert answer.truncated and answer.error is None
    ids = lm.encode(probes.prompt, "São Tomé").ids
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
    error, message = ERRORS[name]
    lm = make("gpt2")
    good = PROBES[0]
    bad, fine = score(lm, [error, good])
    assert message in (bad.error or "") and bad.targets == ()
    assert fine == score(lm, [good])[0]


def test_infinite_numbers_are_an_error() -> None:
    lm = make("gpt2")
    with torch.no_grad():
        lm.projection(0).weight.fill_(torch.nan)
    assert score(lm, [PROBES[0]])[0].error == "the model's log-probabilities are not finite"
    text = GenerateProbe(purpose="x", item="x", prompt="Peru", most=3)
    assert write(lm, [text])[0] == Answer(probe=text.id, error="the model's logits are not numbers")
