"""Rows of several lengths in one pass are what each group's own pass makes of them, forth and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.inference.passes import last_mlp, logits_at, only_at
from evaluation.inference.prefix_cache import Prefix, read_prefix
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.processor import joint_pass
from evaluation.models.processor.joint_pass import RowGroup, UpperRows, joint_states
from evaluation.models.processor.tiled_weights import has_tiles, tiled_products
from evaluation.models.processor.upper_pass import UpperPass
from tests.support.evaluation.sloped_pass import USUAL, close, small_steps  # noqa: F401
from tests.support.tiny import CONFIGS, make

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")

LAYER = 1

ROWS = {
    "one token": ([(5,), (6,), (7,)], [(0, 0), (1, 0), (2, 0)]),
    "one row": ([(8, 9, 10, 11)], [(0, 3), (0, 1)]),
    "padded": ([(12, 13, 14), (15, 16)], [(0, 2), (1, 1), (1, 0)]),
}
"""Rows of three groups, and what is read of them."""

BEGINNINGS = {"one token": [(20, 21), (22,), ()], "one row": [(23, 24, 25)], "padded": [(26,), (27, 28, 29)]}


class Rows(NamedTuple):
    """A group, with what its own pass needs."""

    ids: Tensor
    mask: Tensor
    prefix: Prefix | None
    start: LayerInput
    reads: tuple[list[int], list[int]]


def prepared(lm: LM, name: str, *, continued: bool) -> Rows:
    rows, reads = ROWS[name]
    ids, mask = lm.pad(rows)
    prefix = read_prefix(lm, BEGINNINGS[name]) if continued else None
    start = run_until(lm, LAYER, ids, mask, after=prefix)
    return Rows(ids, mask, prefix, start, ([row for row, _ in reads], [place for _, place in reads]))


def own_pass(lm: LM, rows: Rows, hidden: Tensor, *, trim: bool = True) -> Tensor:
    """Logits by the model's own pass from the layer on."""
    with resume_at(lm, rows.start, hidden), only_at(last_mlp(lm) if trim else [], *rows.reads):
        return logits_at(lm, rows.ids, rows.mask, *rows.reads, after=rows.prefix)


def known(lm: LM, rows: Rows) -> UpperRows | None:
    """How the model runs them."""
    upper = UpperPass(lm, LAYER)
    with upper.record():
        own_pass(lm, rows, rows.start.hidden)
    return UpperRows.of(upper)


def group(rows: Rows, upper: UpperRows, hidden: Tensor) -> RowGroup:
    return RowGroup(upper, hidden, None if rows.prefix is None else rows.prefix.past, rows.reads)


def together(lm: LM, some: list[Rows], hidden: list[Tensor]) -> Tensor | None:
    """Logits of all groups by one pass, if they may go together."""
    uppers = [known(lm, rows) for rows in some]
    if any(upper is None for upper in uppers):
        return None
    states = joint_states([group(r, u, h) for r, u, h in zip(some, uppers, hidden, strict=True) if u is not None])
    return None if states is None else lm.module(lm.layout.head)(states)  # type: ignore[no-any-return]


def moved(rows: Rows) -> Tensor:
    return (1.5 * rows.start.hidden + 0.1).detach().requires_grad_()


@pytest.mark.parametrize("continued", [True, False], ids=["after beginnings", "whole rows"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_slopes_are_those_of_the_groups_own_passes(kind: str, continued: bool) -> None:
    lm = make(kind)
    some = [prepared(lm, name, continued=continued and lm.layout.positions) for name in ROWS]
    hidden = [moved(rows) for rows in some]
    with torch.enable_grad():
        want = torch.cat([own_pass(lm, rows, states, trim=False) for rows, states in zip(some, hidden, strict=True)])
        slopes = torch.autograd.grad(want.square().mean(), hidden)
    with tiled_products(lm), torch.enable_grad():
        got = together(lm, some, hidden)
        assert (got is not None) == (kind in USUAL)
        if got is None:
            return
        assert close(got, want)
        for a, b in zip(torch.autograd.grad(got.square().mean(), hidden), slopes, strict=True):
            assert close(a, b)
        with torch.no_grad():
            still = together(lm, some, hidden)
            assert still is not None and close(still, want)


@pytest.mark.parametrize("continued", [True, False])
def test_rows_that_stay_go_on_as_they_went(continued: bool) -> None:
    """Without the padding that only the others needed."""
    lm = make("llama")
    rows = prepared(lm, "padded", continued=continued)
    index = torch.tensor([1])
    prefix = None if rows.prefix is None else rows.prefix.select(index)
    start = rows.start._replace(hidden=rows.start.hidden[index, :2])
    fewer = Rows(rows.ids[index, :2], rows.mask[index, :2], prefix, start, ([0, 0], [1, 0]))
    other = prepared(lm, "one row", continued=continued)
    with tiled_products(lm):
        upper, whole = known(lm, rows), known(lm, other)
        assert upper is not None and whole is not None
        states = joint_states(
            [
                group(fewer, upper.select(index, 2), fewer.start.hidden),
                group(other, whole.select(torch.tensor([0]), 4), other.start.hidden),
            ]
        )
        assert states is not None
        got = lm.module(lm.layout.head)(states)
    want = torch.cat([own_pass(lm, r, r.start.hidden) for r in (fewer, other)])
    assert close(got, want)


def test_where_something_hangs_on_a_block_rows_go_their_own_way() -> None:
    lm = make("llama")
    some = [prepared(lm, name, continued=True) for name in ROWS]
    hidden = [rows.start.hidden for rows in some]
    with tiled_products(lm):
        uppers = [known(lm, rows) for rows in some]
        groups = [group(r, u, h) for r, u, h in zip(some, uppers, hidden, strict=True) if u is not None]
        assert len(groups) == 3 and joint_states(groups) is not None
        block: Any = lm.block(LAYER + 1)
        for module in (block, block.self_attn, block.self_attn.o_proj, block.input_layernorm):
            with replace_output(module, lambda _, out: 2 * out):
                assert joint_states(groups) is None
        plain = joint_states(groups)
        with replace_output(block.mlp.down_proj, lambda _, out: 2 * out):
            changed = joint_states(groups)
            want = torch.cat([own_pass(lm, r, h) for r, h in zip(some, hidden, strict=True)])
        assert plain is not None and changed is not None and not close(changed, plain)
        assert close(lm.module(lm.layout.head)(changed), want)
        assert joint_states([one._replace(hidden=one.hidden.double()) for one in groups]) is None
    assert joint_states(groups) is None, "the blocks are the modules' own again"


def test_long_rows_go_their_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    some = [prepared(lm, name, continued=True) for name in ROWS]
    with tiled_products(lm):
        assert together(lm, some, [rows.start.hidden for rows in some]) is not None
        monkeypatch.setattr(joint_pass, "is_short", lambda queries, keys, mask, *, wanted: queries * keys < 9)
        assert together(lm, some, [rows.start.hidden for rows in some]) is None
