"""Tiles of a weight multiply in both directions as its module does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from evaluation.models.processor.tiled_weights import has_tiles
from evaluation.models.processor.tiles import JointMap, MapByTiles, Tiles

pytestmark = pytest.mark.skipif(not has_tiles(), reason="no products by tiles on this machine")


def frozen(module: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for one in module.parameters():
            one.copy_(torch.randn(one.shape, generator=generator))
    return module.requires_grad_(False)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("make_map", [
    lambda: nn.Linear(24, 40), lambda: nn.Linear(24, 40, bias=False), lambda: Conv1D(40, 24)
])  # fmt: skip
def test_both_directions_equal_the_own_product(make_map: Callable[[], nn.Module], kept: bool) -> None:
    module: Any = frozen(make_map())
    tiles = Tiles(turned=isinstance(module, Conv1D), kept=kept)
    shapes = [(9, 24), (2, 5, 24), (1, 24), (2, 1, 24), (1, 3, 24)]
    for states in (*map(torch.randn, shapes), torch.randn(5, 3, 24).transpose(0, 1), torch.randn(24, 2).T):
        got = tiles.product(states, (module.weight,), module.bias)
        assert got.shape == (*states.shape[:-1], 40) and torch.allclose(got, module(states.contiguous()), atol=1e-4)
        slopes = torch.randn(*states.shape[:-1], 40)
        weight = module.weight.T if isinstance(module, Conv1D) else module.weight
        assert torch.allclose(tiles.product(slopes, (module.weight,), back=True), slopes @ weight, atol=1e-4)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("biases", [(False, False), (True, True), (True, False)])
def test_joint_maps_are_their_maps_one_after_the_other(biases: tuple[bool, bool], kept: bool) -> None:
    modules: list[Any] = [frozen(nn.Linear(24, 40, bias=biases[0])), frozen(nn.Linear(24, 16, bias=biases[1]))]
    for states in (torch.randn(9, 24), torch.randn(2, 1, 24), torch.randn(1, 3, 24)):
        joint = JointMap([MapByTiles(module, kept=kept) for module in modules])
        want = torch.cat([module(states) for module in modules], -1)
        assert torch.allclose(joint.product(states), want, atol=1e-4)
        slopes = torch.randn(want.shape)
        weight = torch.cat([module.weight for module in modules])
        assert torch.allclose(joint.slope(slopes), slopes @ weight, atol=1e-4)
        modules[1].weight.data.mul_(1.5)  # behind autograd's back, noticed by the next who joins them
