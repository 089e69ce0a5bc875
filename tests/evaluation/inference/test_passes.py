"""Passes that leave out what is known equal whole passes: shared prefixes, blocks below a layer, scored positions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from evaluation.inference.passes import can_share, logits_at, read_prefix
from evaluation.models.hooks import replace_output
from tests.support.tiny import CONFIGS, make

ROWS = [(5, 9, 11, 20, 31), (7, 8), (9, 10, 11), (40, 41, 42, 43, 44, 45, 46)]
CUTS = [2, 0, 1, 6]  # a row without a beginning; rests of different lengths


@pytest.mark.parametrize("plain_head", [True, False])
@pytest.mark.parametrize("kind", CONFIGS)
def test_equals_whole_rows(kind: str, plain_head: bool) -> None:
    lm = make(kind)
    lm.layout = replace(lm.layout, plain_head=plain_head)
    shift = torch.zeros(32, requires_grad=True)

    def run(rows: list[tuple[int, ...]], places: list[int], lasts: list[int], prefix: object) -> list[torch.Tensor]:
        def add(_: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
            copy = out.clone()
            copy[range(4), places] += shift + 0.5
            return copy

        ids, mask = lm.pad(rows)
        with replace_output(lm.projection(1), add):
            logits = logits_at(lm, ids, mask, range(4), lasts, after=prefix)  # type: ignore[arg-type]
        (gradient,) = torch.autograd.grad(logits.log_softmax(-1)[:, 3].sum(), shift)
        return [logits.detach(), gradient]

    tensors = run(ROWS, CUTS, [len(r) - 1 for r in ROWS], None)
    prefix = read_prefix(lm, [r[:c] for r, c in zip(ROWS, CUTS, strict=True)])
    rests = [r[c:] for r, c in zip(ROWS, CUTS, strict=True)]
    for _ in range(2):  # a prefix serves more than one pass
        cut = run(rests, [0] * 4, [len(r) - 1 for r in rests], prefix)
        for a, b in zip(tensors, cut, strict=True):
            assert b.isfinite().all() and torch.allclose(a, b, atol=1e-4)


def test_nothing_is_shared_near_a_sliding_window() -> None:
    lm = make("mistral")  # its window is 16 tokens
    assert can_share(lm, 8) and not can_share(lm, 9)
    assert can_share(make("llama"), 90)
    lm.layout = replace(lm.layout, positions=False)
    assert not can_share(lm, 8)
