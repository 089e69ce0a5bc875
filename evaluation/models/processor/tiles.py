"""Copies of a weight in tiles, the order in which a processor reads it, and a linear map that multiplies by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from evaluation.models.linear_maps import is_transposed

FEW = 8
"""Rows below which a weight that is not in tiles is left to the module's own product."""

ALONE, FILLED = 2, 6
"""So few rows are filled up with zeros to so many: a product by tiles takes a third longer for one row than for six."""


class Tiles:
    """One weight's copies, each made when it is first wanted, and made anew when the weight has changed.

    Args:
        turned: Whether the weight is kept as [in, out].
        kept: Whether copies are kept; else the weight is read as it lies.
    """

    def __init__(self, *, turned: bool, kept: bool) -> None:
        self.turned, self.kept = turned, kept
        self._source: _TiledWeight | None = None
        self._copies: dict[bool, Tensor] = {}

    def product(self, states: Tensor, weight: Tensor, bias: Tensor | None = None, *, back: bool = False) -> Tensor:
        """States [..., in] times the weight, [..., out]; ``back``: slopes [..., out] to [..., in]."""
        matrix = self._copies.get(back)
        if matrix is None:
            matrix = weight.detach().t() if self.turned != back else weight.detach()
            if self.kept:
                matrix = self._copies[back] = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), None)
        rows = states.numel() // states.shape[-1]
        if not self.kept or rows > ALONE:
            return _by_tiles(states.contiguous(), matrix, bias)
        filled = states.new_zeros(FILLED, states.shape[-1])
        filled[:rows] = states.reshape(rows, -1)
        return _by_tiles(filled, matrix, bias)[:rows].view(*states.shape[:-1], -1)

    def renew(self, weight: Tensor, *, thorough: bool) -> None:
        """Drop the copies where the weight is not what they were made of.

        Args:
            weight: As it is now.
            thorough: Compare the sum of its entries as well, which shows changes made behind autograd's back.
        """
        if not self.kept or (self._source is not None and self._source.is_still(weight, thorough=thorough)):
            return
        self._copies = {}
        self._source = _TiledWeight(weight, weight.detach(), weight._version, float(weight.detach().sum()))


def _by_tiles(states: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(states, matrix, bias, "none", [], "")
    return out


class _TiledWeight(NamedTuple):
    """What copies were made of: a weight, the memory that it had, its version and the sum of its entries."""

    weight: Tensor
    memory: Tensor  # kept alive, so that nothing else comes to lie there
    version: int
    total: float

    def is_still(self, weight: Tensor, *, thorough: bool) -> bool:
        same = self.weight is weight and self.memory.data_ptr() == weight.data_ptr() and self.version == weight._version
        return same and not (thorough and float(weight.detach().sum()) != self.total)


class _Product(torch.autograd.Function):
    """A linear map whose weight is not trained."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, tiled: MapByTiles) -> Tensor:
        """The product."""
        ctx.tiled = tiled
        return tiled.product(states)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        """The slope with respect to the states."""
        return ctx.tiled.slope(slopes[0]), None


_TILES: WeakKeyDictionary[nn.Module, Tiles] = WeakKeyDictionary()


class MapByTiles:
    """A linear map's forward by tiles, for the time of a block.

    Args:
        module: The map.
        kept: Whether its copies are kept.
    """

    def __init__(self, module: nn.Module, *, kept: bool) -> None:
        self.module: Any = module
        self._own: Callable[[Tensor], Tensor] = module.forward
        tiles = _TILES.get(module)
        if tiles is None or tiles.kept != kept:
            tiles = _TILES[module] = Tiles(turned=is_transposed(module), kept=kept)
        self._tiles = tiles
        self._checked = False

    def can_multiply(self, states: Tensor) -> bool:
        """Whether states, [..., in] or [..., out], are multiplied by tiles."""
        rows = states.numel() // states.shape[-1]
        fit = rows >= FEW if not self._tiles.kept else rows > 0
        return fit and states.dtype == torch.float32 and not self.module.weight.requires_grad

    def product(self, states: Tensor) -> Tensor:
        """States [..., in] times the weight as it is now, [..., out]; no slope is kept."""
        weight = self.module.weight
        self._tiles.renew(weight, thorough=not self._checked)
        self._checked = True
        return self._tiles.product(states, weight, self.module.bias)

    def slope(self, slopes: Tensor) -> Tensor:
        """Slopes with respect to the output, [..., out], as those with respect to the states, [..., in]."""
        return self._tiles.product(slopes, self.module.weight, back=True)

    def __call__(self, states: Tensor) -> Tensor:
        """As the module's own forward."""
        if not self.can_multiply(states):
            return self._own(states)
        if torch.is_grad_enabled() and states.requires_grad:
            return _Product.apply(states, self)  # type: ignore[no-any-return,no-untyped-call]
        return self.product(states)
