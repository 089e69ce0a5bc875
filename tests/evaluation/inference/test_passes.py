"""Logits at places equal those of a whole pass, with the head inside the model or beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from evaluation.inference.passes import last_mlp, logits_at, logprobs_at, only_at
from tests.support.tiny import CONFIGS, make


@pytest.mark.parametrize("plain_head", [True, False])
@pytest.mark.parametrize("kind", CONFIGS)
@torch.no_grad()
def test_equal_a_whole_pass(kind: str, plain_head: bool) -> None:
    lm = make(kind)
    lm.layout = replace(lm.layout, plain_head=plain_head and lm.layout.plain_head)
    texts = [lm.tokenizer(text)["input_ids"] for text in ("The capital of Peru is", "She left", "Rivers and lakes")]
    ids, mask = lm.pad(texts)
    rows, places = [0, 1, 2, 0], [len(texts[0]) - 1, len(texts[1]) - 1, 0, 1]
    logits = logits_at(lm, ids, mask, rows, places)
    assert logits.dtype == torch.float32 and logits.shape[0] == 4
    for n, (row, place) in enumerate(zip(rows, places, strict=True)):
        single_logits = lm.model(input_ids=torch.tensor([texts[row]])).logits[0, place].float()
        assert torch.allclose(logits[n], single_logits, atol=1e-4)
    at, tokens = torch.tensor([0, 3, 3, 1]), torch.tensor([5, 6, 7, 5])
    for some in (2, 4):  # a head may be read another way for few places
        own = logits_at(lm, ids, mask, rows[:some], places[:some]).log_softmax(-1)
        got = logprobs_at(lm, ids, mask, rows[:some], places[:some])(at % some, tokens)
        assert got.dtype == torch.float32 and torch.allclose(got, own[at % some, tokens], atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "neox", "phi3"])
def test_the_last_mlp_at_some_places_gives_the_logits_there(kind: str) -> None:
    lm = make(kind)
    modules = last_mlp(lm)
    assert len(modules) >= 2
    ids, mask = lm.pad([[5, 6, 7, 8], [9, 4, 3]])
    rows, places = [0, 0, 1], [1, 3, 2]
    with torch.no_grad():
        want = logits_at(lm, ids, mask, rows, places)
        with only_at(modules, rows, places):
            assert torch.allclose(logits_at(lm, ids, mask, rows, places), want, atol=1e-5)
        other = logits_at(lm, ids, mask, [1], [0])
        with only_at(modules, rows, places):
            assert not torch.allclose(logits_at(lm, ids, mask, [1], [0]), other, atol=1e-4), "nothing is computed there"
    assert all("forward" not in module.__dict__ for module in modules)
