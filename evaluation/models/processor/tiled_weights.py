"""Products with weights kept in tiles: in the order in which a processor's product reads them.

On a CPU a product of few rows spends much of its time on bringing the weight into that order. The passes of the fast
engine read the same weights again and again, so a copy in tiles is made once, one for each direction that is used. The
module's own product is the slow twin, which this equals but for rounding. Only float32 on x86 processors is concerned.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from evaluation.models.linear_maps import is_transposed
from evaluation.models.processor.fused_steps import fused_steps

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

ROOM = 2**31
"""Bytes that a model's tiles may take. A larger model's weights are read as they lie, in larger products only."""

FEW = 8
"""Rows below which a weight that is not in tiles is left to the module's own product."""


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
        out: Tensor = torch.ops.mkldnn._linear_pointwise(states.contiguous(), matrix, bias, "none", [], "")
        return out

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
    def forward(ctx: Any, states: Tensor, tiles: Tiles, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The product."""
        ctx.tiles, ctx.weight = tiles, weight
        return tiles.product(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None, None]:
        """The slope with respect to the states."""
        return ctx.tiles.product(slopes[0], ctx.weight, back=True), None, None, None


_TILES: WeakKeyDictionary[nn.Module, Tiles] = WeakKeyDictionary()


@contextmanager
def tiled_products(lm: LM) -> Iterator[None]:
    """Linear maps of the blocks, and the head, multiply by tiles in the block; nothing where that is of no use.

    Their weights must not be trained or changed in the block; changes from one block to the next are noticed.
    """
    modules = _maps(lm) if can_tile(lm) else []
    kept = 8 * sum(module.weight.numel() for module in modules) <= ROOM  # type: ignore[union-attr,operator,misc]
    with ExitStack() as undo:
        for module in modules:
            if "forward" not in module.__dict__:  # what others put there, this function further out among them, stays
                undo.callback(module.__dict__.pop, "forward", None)
                module.forward = _multiplying(module, kept=kept)
        if modules:
            undo.enter_context(fused_steps(lm))
        yield


def can_tile(lm: LM) -> bool:
    """Whether tiles are of use: float32 weights on one x86 processor with a build of PyTorch that has the products."""
    return lm.dtype == torch.float32 and all(d.type == "cpu" for d in lm.devices) and has_tiles()


@cache
def has_tiles() -> bool:
    """Whether this build of PyTorch multiplies by tiles as it multiplies otherwise; tried with a few numbers."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    states, weight, bias = (
        torch.linspace(-1, 1, 96).reshape(6, 16),
        torch.linspace(-1, 1, 112).reshape(7, 16),
        torch.ones(7),
    )
    try:
        tiles = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        out = torch.ops.mkldnn._linear_pointwise(states, tiles, bias, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):  # no promise of PyTorch's; another release may have no such thing
        return False
    return bool(torch.allclose(out, nn.functional.linear(states, weight, bias), atol=1e-5))


def _maps(lm: LM) -> list[nn.Module]:
    blocks = [module for n in range(lm.layout.depth) for module in lm.block(n).modules()]
    return [module for module in (*blocks, lm.module(lm.layout.head)) if type(module) in (nn.Linear, Conv1D)]


def _multiplying(module: nn.Module, *, kept: bool) -> Callable[[Tensor], Tensor]:
    own: Callable[[Tensor], Tensor] = module.forward
    tiles = _TILES.get(module)
    if tiles is None or tiles.kept != kept:
        tiles = _TILES[module] = Tiles(turned=is_transposed(module), kept=kept)
    checked = False

    def forward(states: Tensor) -> Tensor:
        nonlocal checked
        weight: Any = module.weight
        rows = states.numel() // states.shape[-1]
        if not rows or weight.requires_grad or states.dtype != torch.float32 or (not kept and rows < FEW):
            return own(states)
        tiles.renew(weight, thorough=not checked)
        checked = True
        bias: Any = module.bias
        if torch.is_grad_enabled() and states.requires_grad:
            return _Product.apply(states, tiles, weight, bias)  # type: ignore[no-any-return,no-untyped-call]
        return tiles.product(states, weight, bias)

    return forward
