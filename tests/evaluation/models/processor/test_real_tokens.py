"""MLPs without the padding give the tokens what whole rows give them, and stand aside for everything else."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from evaluation.inference.token_tree import to_tensors, tree
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.processor import real_tokens as module
from evaluation.models.processor.real_tokens import real_tokens
from evaluation.models.processor.tiled_weights import can_tile, has_tiles, tiled_products
from tests.support.evaluation.sloped_pass import USUAL, small_steps  # noqa: F401
from tests.support.tiny import CONFIGS, make

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")

LENGTHS = [5, 41, 3]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of every MLP that left padding out."""
    own, tokens = module.norm_tokens, list[int]()

    def note(states: Tensor, at: Tensor, *more: Any) -> Tensor:
        tokens.append(len(at))
        return own(states, at, *more)

    monkeypatch.setattr(module, "norm_tokens", note)
    return tokens


def padded(lm: LM) -> dict[str, Any]:
    ids, mask = torch.arange(3 * 41).reshape(3, 41) % 50 + 5, torch.zeros(3, 41, dtype=torch.long)
    for row, size in enumerate(LENGTHS):
        mask[row, :size] = 1
    return {"input_ids": ids, "attention_mask": mask}


def states(lm: LM, given: dict[str, Any]) -> Tensor:
    with torch.no_grad():
        out: Tensor = lm.module(lm.layout.base)(**{"use_cache": False, **given}).last_hidden_state
    return torch.cat([row[:size] for row, size in zip(out, LENGTHS, strict=True)])


def goes(kind: str, steps: str) -> bool:
    """Whether blocks of a class leave padding out."""
    return kind in USUAL and steps == "by compiled loops"


@pytest.mark.parametrize("kind", CONFIGS)
def test_tokens_are_those_of_whole_rows(kind: str, left: list[int], small_steps: str) -> None:  # noqa: F811
    lm = make(kind)
    given = padded(lm)
    with tiled_products(lm):
        want, before = states(lm, given), [lm.block(n).__dict__.get("forward") for n in range(lm.layout.depth)]
        with real_tokens(lm, LENGTHS):
            got = states(lm, given)
        assert [lm.block(n).__dict__.get("forward") for n in range(lm.layout.depth)] == before
    assert torch.allclose(got, want, atol=1e-4)
    assert left == ([sum(LENGTHS)] * (lm.layout.depth - 1) if goes(kind, small_steps) and can_tile(lm) else [])


def test_rows_of_trees(left: list[int], small_steps: str) -> None:  # noqa: F811
    lm = make("llama")
    beginning = tuple(range(5, 43))
    trees = [tree([(5, 6, 7), (5, 8, 9)]), tree([(*beginning, 7, 8), (*beginning, 9)]), tree([(6, 7, 8)])]
    packed = to_tensors(lm, trees)
    given = {"input_ids": packed.ids, **packed.arguments}
    assert [len(one.ids) for one in trees] == LENGTHS
    with tiled_products(lm):
        want = states(lm, given)
        with real_tokens(lm, LENGTHS):
            assert torch.allclose(states(lm, given), want, atol=1e-4)
    assert bool(left) == goes("llama", small_steps)


def test_padding_keeps_what_attention_left_there(left: list[int], small_steps: str) -> None:  # noqa: F811
    lm = make("llama")
    block: Any = lm.block(0)
    draw = torch.Generator().manual_seed(1)
    given, turns = (torch.randn(*size, generator=draw) for size in ((3, 41, lm.layout.width), (1, 41, 8)))
    more = {"position_embeddings": (turns.cos(), turns.sin())}
    with tiled_products(lm), torch.no_grad():
        whole = block.forward
        middle, want = whole.attended(given, more), whole(given, **more)
        with real_tokens(lm, LENGTHS):
            got = block(given, **more)
    for row, size in enumerate(LENGTHS):
        assert torch.allclose(got[row, :size], want[row, :size], atol=1e-4)
        if goes("llama", small_steps):
            assert torch.equal(got[row, size:], middle[row, size:])
    assert bool(left) == goes("llama", small_steps)


@pytest.mark.parametrize("what", ["trained", "other rows", "no padding"])
def test_what_cannot_leave_it_out_goes_the_whole_way(what: str, left: list[int], small_steps: str) -> None:  # noqa: F811
    lm = make("llama")
    given, lengths = padded(lm), {"other rows": [5, 41, 3, 2], "no padding": [41, 41, 41]}.get(what, LENGTHS)
    if what == "trained":
        lm.projection(0).weight.requires_grad_(True)
    with tiled_products(lm):
        want = states(lm, given)
        with real_tokens(lm, lengths):
            got = states(lm, given)
    assert torch.allclose(got, want, atol=1e-4)
    others = lm.layout.depth - 2 if what == "trained" and goes("llama", small_steps) else 0
    assert left == [sum(LENGTHS)] * others


def test_what_hangs_on_the_last_map_gets_whole_rows(left: list[int], small_steps: str) -> None:  # noqa: F811
    lm = make("llama")
    given = padded(lm)
    with tiled_products(lm), replace_output(lm.projection(0), lambda _, out: out * 2):
        want = states(lm, given)
        with real_tokens(lm, LENGTHS):
            got = states(lm, given)
    assert torch.allclose(got, want, atol=1e-4)
    assert left == [sum(LENGTHS)] * (lm.layout.depth - 1 if goes("llama", small_steps) else 0)


def test_a_pass_with_slopes_goes_the_whole_way(left: list[int]) -> None:
    lm = make("llama")
    with tiled_products(lm), real_tokens(lm, LENGTHS), torch.enable_grad():
        lm.model(**padded(lm))
    assert not left


def test_forwards_come_back_after_an_error() -> None:
    lm = make("llama")
    with tiled_products(lm):
        before = [lm.block(n).__dict__.get("forward") for n in range(lm.layout.depth)]
        with pytest.raises(KeyError), real_tokens(lm, LENGTHS):
            raise KeyError
        assert [lm.block(n).__dict__.get("forward") for n in range(lm.layout.depth)] == before
    with real_tokens(lm, LENGTHS):  # outside of ``tiled_products`` nothing is changed
        assert all("forward" not in lm.block(n).__dict__ for n in range(lm.layout.depth))
