"""The maps of a block: which one is the MLP's, where experts stand, what cannot be told."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from evaluation.models.linear_maps import common_projection, expert_modules, maps_beside_experts
from schemas.core.errors import ModelError
from tests.support.evaluation.further_architectures import DENSE, EXPERTS, make_further


def block(*inner: int, width: int = 4) -> nn.Module:
    """A block with an MLP for every inner width."""
    maps = {f"{way}{i}": nn.Linear(*sizes) for i, n in enumerate(inner) for way, sizes in
            (("in", (width, n)), ("out", (n, width)))}  # fmt: skip
    return nn.ModuleDict(maps)


def found(*blocks: nn.Module, inner: int | None = None) -> str:
    return common_projection(nn.ModuleList(blocks), width=4, inner=inner, model_class="Own")


def test_the_one_that_all_blocks_have() -> None:
    assert found(block(8), block(8)) == "out0"
    assert found(block(8, 6), block(8)) == "out0", "what only some blocks have is another part"
    assert found(block(8, 6), block(8, 6), inner=6) == "out1", "the configuration decides"


def test_what_cannot_be_told() -> None:
    with pytest.raises(ModelError, match="2 candidates .* of class ModuleDict"):
        found(block(8, 6), inner=5)
    with pytest.raises(ModelError, match="2 candidates"):
        found(block(8, 8), inner=8)
    with pytest.raises(ModelError, match="block 1 of Own is built unlike block 0"):
        found(block(8), block(6))
    with pytest.raises(ModelError, match="no MLP output projection"):
        found(block(8), nn.ModuleDict({"a": nn.Linear(4, 5)}))


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
