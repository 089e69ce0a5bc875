"""How a search's rows are run: what is shared or left out gives what whole rows give."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import torch

from evaluation.editors.locate_edit.search.passes import Stems, alike, price
from evaluation.inference.prefix_cache import read_prefix
from tests.support.tiny import make

KINDS = (0, 1, 0, 1, 2, -1, -1)
BEGINNINGS = [(5, 6, 7, 8), (9, 4), (5, 6, 7), (9, 4, 11, 12, 13), (8,), (), (7, 6)]


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
@pytest.mark.parametrize("rows", [range(7), [0, 1, 4, 5], [2, 1, 2], [3, 0]], ids=str)
def test_stems_read_once_give_the_cache_of_whole_beginnings(kind: str, rows: list[int]) -> None:
    lm = make(kind)
    kinds, ids = [KINDS[i] for i in rows], [BEGINNINGS[i] for i in rows]
    continuations, want = Stems(lm, KINDS, BEGINNINGS, max_tokens=64).continued(kinds, ids), read_prefix(lm, ids)
    assert torch.equal(continuations.lengths, want.lengths) and torch.equal(continuations.mask.bool(), want.mask.bool())
    real = want.mask.bool()
    for a, b in zip(continuations.past.layers, want.past.layers, strict=True):
        for x, y in ((a.keys, b.keys), (a.values, b.values)):
            assert torch.allclose(x.transpose(1, 2)[real], y.transpose(1, 2)[real], atol=1e-5)
            assert x.isfinite().all(), "padding is masked by a product with zero"


def test_rows_alone_of_their_kind_share_no_stem() -> None:
    lm = make("llama")
    continuations = Stems(lm, KINDS[:2], BEGINNINGS[:2], max_tokens=64).continued(KINDS[1::-1], BEGINNINGS[1::-1])
    assert continuations.lengths.tolist() == [2, 4]


def test_on_a_card_lengths_are_kept_apart_where_much_padding_goes_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    monkeypatch.setattr(type(lm), "device", torch.device("cuda", 0))
    few, many = ([1, 2, 3, 8] * n for n in (128, 1024))
    assert len(alike(few, 10**6, each=price(lm))) == 1, "a pass more costs the host more than padding costs the card"
    assert [sorted({many[i] for i in rows}) for rows in alike(many, 10**6, each=price(lm))] == [[1, 2, 3], [8]]


def test_alike_is_the_cheapest_cut() -> None:
    draw = random.Random(0)
    for _ in range(50):
        lengths = [draw.randint(0, 6) for _ in range(draw.randint(1, 12))]
        each, most = draw.randint(1, 20), draw.randint(6, 40)

        def cost(groups: list[list[int]], lengths: list[int] = lengths, each: int = each, limit: int = most) -> int:
            sizes = [len(g) * max(lengths[i] for i in g) for g in groups]
            return sum(size + each * -(-size // limit) for size in sizes)

        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        steps = [n for n in range(1, len(order)) if lengths[order[n]] != lengths[order[n - 1]]]
        cuts = [
            [0, *[n for k, n in enumerate(steps) if number >> k & 1], len(order)] for number in range(2 ** len(steps))
        ]
        result = alike(lengths, most, each=each)
        assert sorted(i for group in result for i in group) == list(range(len(lengths)))
        assert cost(result) == min(cost([order[a:b] for a, b in pairwise(cut)]) for cut in cuts)
