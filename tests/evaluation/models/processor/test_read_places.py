"""The last block at places equals its whole pass there, and goes its own way where something hangs on it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from evaluation.inference.token_tree import additive_mask, ancestors, to_tensors, tree
from evaluation.models.hooks import capture, replace_output
from evaluation.models.language_model import LM
from evaluation.models.processor import read_places
from evaluation.models.processor.read_places import last_block_at
from evaluation.models.processor.tiled_weights import can_tile, has_tiles, tiled_products
from tests.support.evaluation.sloped_pass import USUAL
from tests.support.tiny import CONFIGS, make

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")

ROWS, PLACES = [0, 0, 1, 2], [1, 4, 2, 40]


def passes(lm: LM, form: str) -> dict[str, Any]:
    """Arguments of a pass over three rows: without a mask, with padding, or over trees of tokens."""
    ids = torch.arange(3 * 41, device=lm.device).reshape(3, 41) % 50 + 5
    if form == "whole":
        return {"input_ids": ids}
    if form == "padded":
        mask = torch.ones_like(ids)
        mask[0, 5:], mask[1, 3:] = 0, 0
        return {"input_ids": ids, "attention_mask": mask}
    beginning = tuple(range(5, 43))
    trees = [tree([(5, 6, 7), (5, 8, 9, 10)]), tree([(6, 7, 8)]), tree([(*beginning, 7, 8), (*beginning, 9)])]
    packed = to_tensors(lm, trees)
    assert packed.ids.shape[1] == 41 and additive_mask(ancestors(packed.ids), lm.dtype).ndim == 4
    return {"input_ids": packed.ids, **packed.arguments}


def states(lm: LM, given: dict[str, Any]) -> Tensor:
    with torch.no_grad():
        out: Tensor = lm.module(lm.layout.base)(**{"use_cache": False, **given}).last_hidden_state
    return out


@pytest.mark.parametrize("form", ["whole", "padded", "trees"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_equals_the_whole_pass_at_the_places(kind: str, form: str) -> None:
    lm = make(kind)
    if form == "trees" and not lm.layout.positions:
        pytest.skip("takes no trees")
    given, block = passes(lm, form), lm.block(lm.layout.depth - 1)
    with tiled_products(lm):
        want, forward = states(lm, given), block.__dict__.get("forward")
        with last_block_at(lm, ROWS, PLACES) as trimmed, capture(block) as seen:
            got = states(lm, given)
        assert trimmed == (kind in USUAL and can_tile(lm)) and block.__dict__.get("forward") is forward
    assert torch.allclose(got[ROWS, PLACES], want[ROWS, PLACES], atol=1e-4)
    if trimmed:
        assert not seen.output[0, 2].any(), "nothing is computed there"


def test_a_block_on_which_something_hangs_goes_its_own_way() -> None:
    lm = make("llama")
    given, last = passes(lm, "whole"), lm.layout.depth - 1
    with tiled_products(lm):
        want = states(lm, given)
        with replace_output(lm.projection(last), lambda _, out: out), last_block_at(lm, ROWS, PLACES) as trimmed:
            assert not trimmed and torch.allclose(states(lm, given), want, atol=1e-5)
        with last_block_at(lm, ROWS, PLACES) as trimmed, replace_output(lm.projection(last), lambda _, out: out):
            assert trimmed == can_tile(lm)  # it was hung there too late
            assert torch.allclose(states(lm, given), want, atol=1e-5)
    with last_block_at(lm, ROWS, PLACES) as trimmed:
        assert not trimmed


def test_a_slope_is_made_by_the_whole_block(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    monkeypatch.setattr(read_places, "normed", None)
    with tiled_products(lm), last_block_at(lm, ROWS, PLACES):
        out = lm.module(lm.layout.base)(**passes(lm, "whole")).last_hidden_state
        assert out[0, 2].any()
