"""Passes through the upper blocks alone are the model's own, forth and back, or none at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from evaluation.inference.packed_rows import PackedRows, pack_rows
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import last_mlp, logits_at, only_at
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.processor.tiled_weights import has_tiles, tiled_products
from evaluation.models.processor.upper_pass import UpperPass
from tests.support.evaluation.sloped_pass import ROWS, USUAL, close
from tests.support.tiny import CONFIGS, make

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")

READS = [(0, 3), (0, 5), (1, 2)]
"""Texts, and places in them."""


def start(lm: LM, layer: int) -> tuple[PackedRows, LayerInput]:
    rows = pack_rows(lm, ROWS)
    return rows, run_until(lm, layer, rows.ids, rows.mask, places=rows.depths)


def places_of(rows: PackedRows) -> tuple[list[int], list[int]]:
    return [rows.begins[n][0] for n, _ in READS], [rows.begins[n][1] + place for n, place in READS]


def own_pass(lm: LM, rows: PackedRows, at: LayerInput, hidden: Tensor, *, trim: bool = True) -> Tensor:
    """The model's own pass from a layer on."""
    read, places = places_of(rows)
    with resume_at(lm, at, hidden), only_at(last_mlp(lm) if trim else [], read, places):
        return logits_at(lm, rows.ids, rows.mask, read, places, depths=rows.depths)


def recorded(lm: LM, rows: PackedRows, at: LayerInput) -> UpperPass:
    upper = UpperPass(lm, at.layer)
    with upper.record():
        own_pass(lm, rows, at, at.hidden)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in lm.model.modules())
    return upper


def through(lm: LM, upper: UpperPass, hidden: Tensor, reads: tuple[list[int], list[int]]) -> Tensor | None:
    """Logits of what the upper blocks alone give, if they do."""
    states = upper.states(hidden, *reads)
    return None if states is None else lm.module(lm.layout.head)(states)  # type: ignore[no-any-return]


def sloped(logits: Tensor, states: Tensor) -> Tensor:
    return torch.autograd.grad(logits.square().mean(), states)[0]


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_slopes_of_other_states_are_those_of_the_models_own_pass(kind: str, layer: int) -> None:
    lm = make(kind)
    rows, at = start(lm, layer)
    moved = (at.hidden * 1.5 + 0.1).requires_grad_()
    with torch.enable_grad():
        want = own_pass(lm, rows, at, moved, trim=False)
        want_slope = sloped(want, moved)
    with tiled_products(lm), torch.enable_grad():
        upper = recorded(lm, rows, at)
        got = through(lm, upper, moved, places_of(rows))
        assert (got is not None) == (kind in USUAL)
        if got is not None:
            assert close(got, want) and close(sloped(got, moved), want_slope)
    assert through(lm, upper, moved, places_of(rows)) is None, "the blocks are the modules' own again"


def test_what_hangs_on_the_last_block_is_left_to_the_models_own_pass() -> None:
    lm = make("llama")
    rows, at = start(lm, 1)
    reads = places_of(rows)
    with tiled_products(lm):
        upper = recorded(lm, rows, at)
        last: Any = lm.block(lm.layout.depth - 1)
        for module in (last, last.mlp, last.mlp.down_proj):
            with replace_output(module, lambda _, out: 2 * out):
                assert through(lm, upper, at.hidden, reads) is None
        for module in (lm.block(1), lm.block(1).get_submodule("mlp"), last.self_attn.o_proj):
            with replace_output(module, lambda _, out: 2 * out):
                got, want = through(lm, upper, at.hidden, reads), own_pass(lm, rows, at, at.hidden)
            assert got is not None and close(got, want)
            plain = through(lm, upper, at.hidden, reads)
            assert plain is not None and not close(plain, want)
        assert through(lm, upper, at.hidden.double(), reads) is None


@pytest.mark.parametrize("where", ["block", "norm", "model"])
def test_a_model_that_does_more_than_norm_and_head_keeps_its_own_pass(where: str) -> None:
    lm = make("llama")
    rows, at = start(lm, 1)
    base: Any = lm.module(lm.layout.base)
    if where == "block":  # between the last block and the norm
        lm.block(lm.layout.depth - 1).register_forward_hook(lambda *a: 2 * a[2])
    elif where == "norm":
        base.norm.register_forward_hook(lambda *a: 2 * a[2])
    else:
        base.register_forward_hook(lambda *a: setattr(a[2], "last_hidden_state", 2 * a[2].last_hidden_state))
    with tiled_products(lm):
        upper = UpperPass(lm, at.layer)
        with upper.record():
            want = own_pass(lm, rows, at, at.hidden)
        got = through(lm, upper, at.hidden, places_of(rows))
    assert got is None or close(got, want)
    assert (got is None) == (where != "norm")


def test_hooks_are_gone_after_an_error_and_nothing_is_known() -> None:
    lm = make("llama")
    rows, at = start(lm, 1)
    with tiled_products(lm):
        upper = UpperPass(lm, at.layer)
        with pytest.raises(KeyError), upper.record():
            raise KeyError
        assert not upper.is_known and through(lm, upper, at.hidden, places_of(rows)) is None
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in lm.model.modules())
