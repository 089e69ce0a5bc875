"""The linear maps of a block, and which of its modules hold experts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from evaluation.models.linear_maps import expert_modules, maps_beside_experts
from tests.support.evaluation.further_architectures import DENSE, EXPERTS, make_further


def test_experts() -> None:
    modules = nn.ModuleDict({"experts": nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])})
    assert expert_modules(modules, width=4) == ("experts",) and maps_beside_experts([modules], width=4) == [()]
    stacked = nn.Module()
    stacked.inside = nn.Module()
    stacked.inside.weight = nn.Parameter(torch.zeros(2, 4, 4))
    assert expert_modules(stacked, width=4) == ("inside",)
    for plain in (nn.ModuleDict({"c": nn.Conv1d(4, 4, 3)}), nn.ModuleDict({"n": nn.ModuleList([nn.LayerNorm(4)] * 2)})):
        assert expert_modules(plain, width=4) == ()


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 4, 4), (4, 2, 2)])
def test_other_weights_with_three_sizes_are_no_experts(shape: tuple[int, ...]) -> None:
    """RWKV's mixtures of neighbouring positions, RecurrentGemma's block-diagonal gates."""
    block = nn.Module()
    block.inside = nn.Module()
    block.inside.weight = nn.Parameter(torch.zeros(shape))
    assert expert_modules(block, width=4) == ()


@pytest.mark.parametrize("kind", ["opt", "lfm2", "mixtral", "qwen2_moe", "deepseek_v3"])
def test_of_real_classes(kind: str) -> None:
    lm = make_further(kind)
    map_names = maps_beside_experts([lm.block(n) for n in range(lm.layout.depth)], width=32)
    experts = [expert_modules(lm.block(n), width=32) for n in range(lm.layout.depth)]
    assert any(experts) is (kind in EXPERTS) and all(map_names)
    if kind in DENSE:
        assert lm.layout.mlp_out in map_names[1]
