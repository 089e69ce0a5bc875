"""Logits at places equal those of a whole pass, with the head inside the model or beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from evaluation.inference.passes import logits_at
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
