"""Halves of a block as one function each equal the block's own forward, forth and back, and stand aside for others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from evaluation.inference.passes import last_mlp, logits_at, only_at
from evaluation.inference.prefix_cache import read_prefix
from evaluation.models.hooks import capture, replace_output
from evaluation.models.language_model import LM
from evaluation.models.processor import compiled_steps, tiled_weights
from evaluation.models.processor import fused_blocks as blocks
from evaluation.models.processor import fused_steps as steps
from evaluation.models.processor.fused_blocks import FusedBlock
from evaluation.models.processor.tiled_weights import has_tiles, tiled_products
from evaluation.models.processor.tiles import Tiles
from tests.support.evaluation.sloped_pass import ROWS, USUAL, close, pass_of, small_steps  # noqa: F401
from tests.support.tiny import CONFIGS, make

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which halves ran as one function, with a slope or without."""
    names: list[str] = []
    for owner, name in [
        (blocks._AttentionSlope, "forward"),
        (blocks._MlpSlope, "forward"),
        (blocks.AttentionHalf, "run"),
        (blocks.MlpHalf, "run"),
    ]:
        own = getattr(owner, name)

        def note(*args: Any, own: Callable[..., Any] = own, what: str = owner.__name__) -> Any:
            names.append(what)
            return own(*args)

        monkeypatch.setattr(owner, name, staticmethod(note) if name == "forward" else note)
    tried = blocks._is_usual

    def try_unseen(block: Any) -> bool:
        usual = tried(block)
        names.clear()
        return usual

    monkeypatch.setattr(blocks, "_is_usual", try_unseen)
    return names


def still(lm: LM) -> Tensor:
    ids, mask = lm.pad(ROWS)
    with torch.no_grad():
        out: Tensor = lm.model(input_ids=ids, attention_mask=mask).logits
    return out[mask.bool()]


@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_slopes_are_those_of_the_blocks(kind: str, used: list[str]) -> None:
    lm = make(kind)
    (want, want_slope), want_still = pass_of(lm), still(lm)
    with tiled_products(lm):
        got, got_slope = pass_of(lm)
        assert bool(used) == (kind in USUAL)
        if used:
            assert used == ["_AttentionSlope", "_MlpSlope"] * lm.layout.depth
        used.clear()
        assert close(still(lm), want_still)
        assert used == (["AttentionHalf", "MlpHalf"] * lm.layout.depth if kind in USUAL else [])
    assert close(got, want) and close(got_slope, want_slope)
    assert all("forward" not in module.__dict__ for module in lm.model.modules())


def test_one_row_without_a_mask_looks_back_only(used: list[str]) -> None:
    lm = make("llama")
    want, want_slope = pass_of(lm, [ROWS[0]])
    with tiled_products(lm):
        got, got_slope = pass_of(lm, [ROWS[0]])
    assert set(used) == {"_AttentionSlope", "_MlpSlope"}
    assert close(got, want) and close(got_slope, want_slope)


def test_rows_that_continue_a_cache_get_the_slopes_of_whole_rows(used: list[str]) -> None:
    lm = make("llama")
    beginnings, rests = [row[:2] for row in ROWS], [row[2:] for row in ROWS]
    ids, mask = lm.pad(rests)
    add = torch.linspace(-1, 1, ids.numel() * lm.layout.width).reshape(*ids.shape, -1).requires_grad_()

    def slope() -> tuple[Tensor, Tensor]:
        prefix = read_prefix(lm, beginnings)
        with torch.enable_grad(), replace_output(lm.block(0), lambda _, out: out + add):
            logits = logits_at(lm, ids, mask, [0, 1], [3, 0], after=prefix)
            (of_add,) = torch.autograd.grad(logits.square().mean(), add)
        return logits.detach(), of_add

    want, want_slope = slope()
    with tiled_products(lm):
        used.clear()
        got, got_slope = slope()
    assert {"_AttentionSlope", "_MlpSlope"} <= set(used)
    assert close(got, want) and close(got_slope, want_slope)


@pytest.mark.parametrize(
    ("name", "left"),
    [("mlp.down_proj", "_AttentionSlope"), ("mlp", "_AttentionSlope"), ("self_attn.o_proj", "_MlpSlope")],
)
def test_a_half_on_which_an_edit_hangs_goes_its_own_way(name: str, left: str, used: list[str]) -> None:
    lm = make("llama")
    module = lm.block(1).get_submodule(name)

    def doubled() -> tuple[Tensor, Tensor]:
        with replace_output(module, lambda _, out: 2 * out):
            return pass_of(lm)

    want, want_slope = doubled()
    plain, _ = pass_of(lm)
    with tiled_products(lm):
        got, got_slope = doubled()
    assert close(got, want) and close(got_slope, want_slope) and not close(got, plain)
    assert len(used) == 2 * lm.layout.depth - 1 and used.count(left) == lm.layout.depth


def test_what_hangs_on_the_last_map_of_an_mlp_reads_and_changes_the_same_numbers(used: list[str]) -> None:
    """To the bit what runs without it, so that no answer depends on what was read on the way."""
    lm = make("llama")
    with capture(lm.projection(1)) as want:
        still(lm)
    with replace_output(lm.projection(1), lambda read, out: out + read.sum(-1, keepdim=True)):
        changed = still(lm)
    with tiled_products(lm):
        plain = still(lm)
        with capture(lm.projection(1)) as got:
            assert torch.equal(still(lm), plain)
        with replace_output(lm.projection(1), lambda read, out: out + read.sum(-1, keepdim=True)):
            assert close(still(lm), changed) and not close(plain, changed)
    assert close(got.input, want.input) and close(got.output, want.output)
    assert used == ["AttentionHalf", "MlpHalf"] * (3 * lm.layout.depth)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("hung", "spare"), [(False, True), (True, True), (False, False)])
def test_gates_of_many_tokens_are_made_of_seven_products(
    hung: bool, spare: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = make("llama")
    if not spare:
        entries = sum(m.weight.numel() for m in lm.model.modules() if type(m) is nn.Linear)
        monkeypatch.setattr(tiled_weights, "ROOM", 14 * entries)
    own, seen = Tiles.seven, list[int]()
    monkeypatch.setattr(Tiles, "seven", lambda tiles, left, *w: seen.append(left.shape[1]) or own(tiles, left, *w))
    ids = torch.arange(3 * 101).reshape(3, 101) % 50
    with torch.no_grad(), ExitStack() as hooks:
        if hung:
            hooks.enter_context(replace_output(lm.projection(1), lambda _, out: out * 2))
        want = lm.model(input_ids=ids).logits
        with tiled_products(lm):
            got = lm.model(input_ids=ids).logits
    assert seen == ([152] * lm.layout.depth if spare and compiled_steps.has_compiler() else []) and close(got, want)


def test_maps_that_run_at_some_places_alone_keep_their_own_way(used: list[str]) -> None:
    lm = make("llama")
    ids, mask = lm.pad(ROWS)
    want = logits_at(lm, ids, mask, [0, 1], [5, 2]).detach()
    with tiled_products(lm), torch.no_grad(), only_at(last_mlp(lm), [0, 1], [5, 2]):
        got = logits_at(lm, ids, mask, [0, 1], [5, 2])
    assert close(got, want) and used.count("MlpHalf") == lm.layout.depth - 1


def test_trained_weights_and_long_rows_with_slopes_keep_their_own_way(
    used: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = make("llama")
    weight: Any = lm.projection(1).weight
    weight.requires_grad_(True)
    with tiled_products(lm):
        pass_of(lm)
        assert used.count("_MlpSlope") == lm.layout.depth - 1
        weight.requires_grad_(False)
        used.clear()
        monkeypatch.setattr(steps, "PAIRS", 10)
        got, _ = pass_of(lm)
    assert set(used) == {"_MlpSlope"} and close(got, pass_of(lm)[0])


def test_a_block_of_another_formula_and_unknown_arguments() -> None:
    lm = make("llama")
    other: Any = lm.block(1)
    other.self_attn.scaling = 3.0
    assert blocks._fits(other), "the scale is the module's own"
    odd = make("llama")
    block: Any = odd.block(1)
    own = type(block).forward
    block.__class__ = type("OddLayer", (type(block),), {"forward": lambda s, h, **more: own(s, h, **more) + h})
    assert not blocks._fits(block) and blocks._fits(odd.block(0))
    seen: list[dict[str, Any]] = []
    fused = FusedBlock(odd.block(0))

    def note(hidden: Tensor, **more: Any) -> Tensor:
        seen.append(more)
        return hidden

    fused._own, states = note, torch.zeros(1, 2, odd.layout.width)
    assert fused(states, somebody=1) is states and seen == [{"somebody": 1}]


def test_everything_comes_back_after_an_error_and_others_forwards_stay() -> None:
    lm = make("llama")
    block: Any = lm.block(0)
    block.forward = placed = block.forward
    with pytest.raises(KeyError), tiled_products(lm):
        assert block.forward is placed and type(lm.block(1).forward) is FusedBlock
        raise KeyError
    assert [module for module in lm.model.modules() if "forward" in module.__dict__] == [block]
