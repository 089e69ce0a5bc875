"""Texts packed into rows are read as each is alone."""

from __future__ import annotations

import random

import pytest
import torch

from evaluation.inference.packed_rows import distribute, pack_rows
from evaluation.inference.passes import logits_at
from tests.support.tiny import CONFIGS, make

TEXTS = [(5, 6, 7, 8, 9, 10), (9, 4, 3), (11,), (9, 4, 3, 7), (12, 13), (5, 6, 7, 8, 9, 10)]


@pytest.mark.parametrize("kind", CONFIGS)
@torch.no_grad()
def test_every_text_as_alone(kind: str) -> None:
    lm = make(kind)
    rows = pack_rows(lm, TEXTS, room=8)
    pairs = [(n, place) for n, text in enumerate(TEXTS) for place in range(len(text))]
    at = [(rows.begins[n][0], rows.begins[n][1] + place) for n, place in pairs]
    result = logits_at(lm, rows.ids, rows.mask, [r for r, _ in at], [p for _, p in at], depths=rows.depths)
    for logits, (n, place) in zip(result, pairs, strict=True):
        single_logits = lm.model(input_ids=torch.tensor([TEXTS[n]])).logits[0, place].float()
        assert torch.allclose(logits, single_logits, atol=1e-4)


def test_several_stand_in_a_row_only_where_the_model_reads_them_so() -> None:
    assert pack_rows(make("llama"), TEXTS, room=8).ids.shape == (3, 8)
    windowed = next(lm for lm in map(make, CONFIGS) if lm.layout.window)
    assert pack_rows(windowed, TEXTS, room=8).ids.shape == (6, 6)


def test_states_by_text_and_by_row() -> None:
    rows = pack_rows(make("llama"), TEXTS, room=8)
    states = torch.arange(float(rows.ids.numel())).reshape(*rows.ids.shape, 1).requires_grad_()
    by_text = rows.by_text(states)
    for n, (row, place) in enumerate(rows.begins):
        size = len(TEXTS[n])
        assert torch.equal(by_text[n, :size], states[row, place : place + size])
        assert not by_text[n, size:].any()
    back = rows.by_row(by_text)
    (slope,) = torch.autograd.grad(back.sum(), states)
    assert torch.equal(back, states * slope), "every token is back in its place, padding is zero"
    assert int(slope.sum()) == sum(map(len, TEXTS)) and set(slope.flatten().tolist()) <= {0.0, 1.0}


def test_rows_are_few_and_about_equal() -> None:
    draw = random.Random(0)
    for _ in range(100):
        lengths = [draw.randint(1, 30) for _ in range(draw.randint(1, 40))]
        room = draw.randint(1, 80)
        rows = distribute(lengths, room)
        assert sorted(n for row in rows for n in row) == list(range(len(lengths)))
        totals = [sum(lengths[n] for n in row) for row in rows]
        assert len(rows) == -(-sum(lengths) // max(room, *lengths, 1)) and min(totals) > 0
        assert max(totals) - min(totals) <= max(lengths)
