"""Copies of a weight in tiles, the order in which a processor reads it, and a linear map that multiplies by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """Copies of a weight, or of several that are read as one; made when first wanted, anew when a weight has changed.

    Args:
        turned: Whether the weights are kept as [in, out].
        kept: Whether copies are kept; else the one weight is read as it lies.
    """

    def __init__(self, *, turned: bool, kept: bool) -> None:
        self.turned, self.kept = turned, kept
        self._sources: list[_TiledWeight] = []
        self._copies: dict[bool, Tensor] = {}
        self._seven: list[Tensor] = []

    def product(
        self, states: Tensor, weights: Sequence[Tensor], bias: Tensor | None = None, *, back: bool = False
    ) -> Tensor:
        """States [..., in] times the weights, [..., all of out]; ``back``: slopes [..., all of out] to [..., in]."""
        matrix = self._copies.get(back)
        if matrix is None:
            whole = weights[0] if len(weights) == 1 else torch.cat(list(weights), 1 if self.turned else 0)
            matrix = whole.detach().t() if self.turned != back else whole.detach()
            if self.kept:
                matrix = self._copies[back] = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), None)
        rows = states.numel() // states.shape[-1]
        if not self.kept or rows > ALONE:
            return _by_tiles(states.contiguous(), matrix, bias)
        filled = states.new_zeros(FILLED, states.shape[-1])
        filled[:rows] = states.reshape(rows, -1)
        return _by_tiles(filled, matrix, bias)[:rows].view(*states.shape[:-1], -1)

    def seven(self, left: Tensor, first: Tensor, second: Tensor) -> list[Tensor]:
        """Strassen's seven products, [rows, out of one] each, with two weights of one even width and size side by side.

        Args:
            left: The seven left operands, [7, rows, half of in].
            first: [out, in].
            second: [out, in].
        """
        if not self._seven:
            (a, c), (b, d) = (one.detach().chunk(2, 1) for one in (first, second))
            sums = (a + d, a, b - d, c - a, d, a + b, c + d)
            self._seven = [torch.ops.mkldnn._reorder_linear_weight(one.contiguous(), None) for one in sums]
        return [_by_tiles(one, weight, None) for one, weight in zip(left, self._seven, strict=True)]

    def renew(self, weights: Sequence[Tensor], *, thorough: bool) -> None:
        """Drop the copies where the weights are not what they were made of.

        Args:
            weights: As they are now.
            thorough: Compare the sum of their entries as well, which shows changes made behind autograd's back.
        """
        known = self._sources
        if not self.kept or (
            known and all(k.is_still(w, thorough=thorough) for k, w in zip(known, weights, strict=True))
        ):
            return
        self._copies, self._seven = {}, []
        self._sources = [_TiledWeight(w, w.detach(), w._version, float(w.detach().sum())) for w in weights]


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


class _CurrentTiles:
    """Tiles of maps as their weights are now, for the time of a block: compared with them thoroughly once in it."""

    def __init__(self, tiles: Tiles, modules: Sequence[Any]) -> None:
        self._tiles, self._modules, self._checked = tiles, modules, False

    def product(self, states: Tensor) -> Tensor:
        """States [..., in] times the weights as they are now, [..., all of out]; no slope is kept."""
        weights, biases = self._weights(), [m.bias for m in self._modules]
        bias = biases[0] if len(biases) == 1 or biases[0] is None else torch.cat(biases)
        return self._tiles.product(states, weights, bias)

    def _weights(self) -> list[Tensor]:
        weights = [m.weight for m in self._modules]
        self._tiles.renew(weights, thorough=not self._checked)
        self._checked = True
        return weights

    @property
    def has_seven(self) -> bool:
        """Whether the maps are two of one even width and size, without biases."""
        shapes = {(m.out_features, m.in_features, m.bias is None) for m in self._modules}
        return len(self._modules) == 2 and len(shapes) == 1 and all(n and not w % 2 for _, w, n in shapes)

    def seven(self, left: Tensor) -> list[Tensor]:
        """Strassen's seven products of seven left operands and the weights as they are now, see ``Tiles``."""
        return self._tiles.seven(left, *self._weights())

    def slope(self, slopes: Tensor) -> Tensor:
        """Slopes with respect to the output, [..., all of out], as those with respect to the states, [..., in]."""
        return self._tiles.product(slopes, [m.weight for m in self._modules], back=True)


_TILES: WeakKeyDictionary[nn.Module, Tiles] = WeakKeyDictionary()


class MapByTiles:
    """A linear map's forward by tiles, for the time of a block.

    Args:
        module: The map.
        kept: Whether its copies are kept.
        spare: Whether there is room for the operands of seven products besides.
    """

    def __init__(self, module: nn.Module, *, kept: bool, spare: bool = False) -> None:
        self.module: Any = module
        self.kept, self.spare = kept, spare
        self._own: Callable[[Tensor], Tensor] = module.forward
        tiles = _TILES.get(module)
        if tiles is None or tiles.kept != kept:
            tiles = _TILES[module] = Tiles(turned=is_transposed(module), kept=kept)
        self._current = _CurrentTiles(tiles, [module])

    def can_multiply(self, states: Tensor) -> bool:
        """Whether states, [..., in] or [..., out], are multiplied by tiles."""
        rows = states.numel() // states.shape[-1]
        fit = rows >= FEW if not self.kept else rows > 0
        return fit and states.dtype == torch.float32 and not self.module.weight.requires_grad

    def product(self, states: Tensor) -> Tensor:
        """States [..., in] times the weight as it is now, [..., out]; no slope is kept."""
        return self._current.product(states)

    def slope(self, slopes: Tensor) -> Tensor:
        """Slopes with respect to the output, [..., out], as those with respect to the states, [..., in]."""
        return self._current.slope(slopes)

    def __call__(self, states: Tensor) -> Tensor:
        """As the module's own forward."""
        if not self.can_multiply(states):
            return self._own(states)
        if torch.is_grad_enabled() and states.requires_grad:
            return _Product.apply(states, self)  # type: ignore[no-any-return,no-untyped-call]
        return self.product(states)


_JOINT: WeakKeyDictionary[nn.Module, Tiles] = WeakKeyDictionary()


class JointMap:
    """Maps of the same states as one: a product of them all where copies are kept, else one product after the other.

    Args:
        maps: The maps, all with a bias or none; ``kept`` says whether by one product.
    """

    def __init__(self, maps: Sequence[Any]) -> None:
        self._maps = maps
        modules = [one.module for one in maps]
        self._current: _CurrentTiles | None = None
        if all(one.kept for one in maps) and len({m.bias is None for m in modules}) == 1:
            self._current = _CurrentTiles(_JOINT.setdefault(modules[0], Tiles(turned=False, kept=True)), modules)

    def product(self, states: Tensor) -> Tensor:
        """States [..., in] times the weights as they are now, [..., all of out]; no slope is kept."""
        if self._current is not None:
            return self._current.product(states)
        return torch.cat([one.product(states) for one in self._maps], -1)

    @property
    def has_seven(self) -> bool:
        """Whether the product may be made of Strassen's seven: two maps of one size, and room for their operands."""
        return self._current is not None and self._current.has_seven and all(one.spare for one in self._maps)

    def seven(self, left: Tensor) -> list[Tensor]:
        """The seven products, [rows, out of one] each, of seven left operands, [7, rows, half of in]."""
        assert self._current is not None
        return self._current.seven(left)

    def slope(self, slopes: Tensor) -> Tensor:
        """Slopes with respect to the output, [..., all of out], as those with respect to the states, [..., in]."""
        if self._current is not None:
            return self._current.slope(slopes)
        parts = torch.split(slopes, [one.module.out_features for one in self._maps], -1)
        first, *others = (one.slope(part) for one, part in zip(self._maps, parts, strict=True))
        total: Tensor = first
        for other in others:
            total.add_(other)
        return total
