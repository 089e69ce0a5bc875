"""Packed weights: frozen linear maps multiply faster on an x86 CPU when their weight is stored in oneDNN's own order.

A product of few rows spends most of its time bringing the weight into that order. The fast engine runs many passes over
the same weights, so each weight is reordered once, for the forward and for the backward pass, and used again. The
module's own product is the reference; results differ by rounding only. GPUs have no use for this.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from evaluation.models.devices import fused_activations
from evaluation.models.layout import is_transposed

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

MAX_BYTES = 2**31
"""Most bytes of packed copies, two of every weight. A larger model uses the modules' own products."""

LEAST_PADDING = 0.125
"""Share of padding in a pass from which on products leave it out."""

_TOKENS: ContextVar[tuple[torch.Size, Tensor] | None] = ContextVar("shape and tokens of a padded pass", default=None)


@contextmanager
def packed_weights(lm: LM) -> Iterator[None]:
    """Inside the block, linear maps of the decoder's blocks and the head multiply with packed weights.

    The block must not train these weights. A weight that changed since it was packed is packed again. Nothing happens
    for other types than float32, on other devices than a CPU, or if PyTorch lacks the operation. On CUDA devices the
    block runs activations of several operations as one (``evaluation.models.devices``).
    """
    with ExitStack() as undo:
        for module in packable_maps(lm):
            if "forward" not in module.__dict__:  # an outer block, or somebody else, has replaced it already
                undo.callback(module.__dict__.pop, "forward", None)
                module.forward = PackedMap(module)
        undo.enter_context(fused_activations(lm))
        yield


@contextmanager
def without_padding(mask: Tensor) -> Iterator[None]:
    """Inside the block, packed maps multiply the tokens of a pass only, and return zeros at its padding.

    It pays where texts of very different lengths are trained together: below ``LEAST_PADDING``, picking the tokens out
    costs more than multiplying all.

    Args:
        mask: The attention mask of the pass, [rows, positions].
    """
    padded = mask.device.type == "cpu" and float(mask.float().mean()) < 1 - LEAST_PADDING
    before = _TOKENS.set((mask.shape, mask.flatten().nonzero()[:, 0]) if padded else None)
    try:
        yield
    finally:
        _TOKENS.reset(before)


def packable_maps(lm: LM) -> list[Any]:
    """Linear maps for which packing pays: of a float32 model on an x86 CPU, if all copies fit into ``MAX_BYTES``."""
    if lm.dtype != torch.float32 or any(device.type != "cpu" for device in lm.devices) or not has_packed_product():
        return []
    maps = _linear_maps(lm)
    size = sum(int(m.weight.numel()) * int(m.weight.element_size()) for m in maps)
    return maps if 2 * size <= MAX_BYTES else []


@cache
def has_packed_product() -> bool:
    """Whether this build of PyTorch has the operation and computes the right product; tried with a small one."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    states, weight = torch.linspace(-1, 1, 96).reshape(6, 16), torch.linspace(-1, 1, 112).reshape(7, 16)
    try:
        product = _multiply(states, _pack(weight), torch.ones(7))
    except (AttributeError, RuntimeError, TypeError):  # not part of PyTorch's public interface
        return False
    return bool(torch.allclose(product, nn.functional.linear(states, weight, torch.ones(7)), atol=1e-5))


class PackedMap:
    """The forward of a linear module with its weight packed.

    Args:
        module: An ``nn.Linear`` or transformers' ``Conv1D``.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self._copies = _COPIES.setdefault(module, _PackedCopies())
        self._sum_checked = False

    def __call__(self, states: Tensor) -> Tensor:
        """[..., in] to [..., out], as the module's own forward."""
        module = self.module
        if states.dtype != torch.float32 or module.weight.requires_grad or not states.numel():
            return type(module).forward(module, states)  # type: ignore[no-any-return]
        shape, tokens = _TOKENS.get() or (None, None)
        if states.shape[:-1] != shape:
            tokens = None
        return _PackedProduct.apply(states, self, tokens)  # type: ignore[no-any-return,no-untyped-call]

    def product(self, states: Tensor) -> Tensor:
        """[..., in] to [..., out], bias included."""
        return _multiply(states, self._packed(backward=False), self.module.bias)

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """Gradient with respect to the output, [..., out], to the one with respect to the input, [..., in]."""
        return _multiply(gradient, self._packed(backward=True), None)

    def _packed(self, *, backward: bool) -> Tensor:
        weight = self.module.weight.detach()
        self._copies.refresh(self.module.weight, compare_sums=not self._sum_checked)
        self._sum_checked = True
        if backward not in self._copies.packed:
            turned = weight.t() if is_transposed(self.module) != backward else weight
            self._copies.packed[backward] = _pack(turned)
        return self._copies.packed[backward]


class _PackedCopies:
    """The packed copies of one weight (key: whether for the backward pass), and what they were made from."""

    def __init__(self) -> None:
        self.packed: dict[bool, Tensor] = {}
        self._source: Tensor | None = None  # a view of the weight: keeps its memory from being used for another tensor
        self._version = self._sum = 0.0

    def refresh(self, weight: Tensor, *, compare_sums: bool) -> None:
        """Drop the copies if the weight changed. Its sum shows changes that autograd's version counter misses."""
        same = self._source is not None and self._source.data_ptr() == weight.data_ptr()
        if same and self._version == weight._version and not (compare_sums and self._sum != float(weight.sum())):
            return
        self.packed = {}
        self._source, self._version, self._sum = weight.detach(), weight._version, float(weight.sum())


_COPIES: WeakKeyDictionary[nn.Module, _PackedCopies] = WeakKeyDictionary()


class _PackedProduct(torch.autograd.Function):
    """The product of a frozen linear map; ``tokens`` are the flat positions where it is needed, None: everywhere."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, packed_map: PackedMap, tokens: Tensor | None) -> Tensor:
        ctx.packed_map, ctx.tokens = packed_map, tokens
        return _at_tokens(packed_map.product, states, tokens)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _at_tokens(ctx.packed_map.input_gradient, gradients[0], ctx.tokens), None, None


def _at_tokens(multiply: Callable[[Tensor], Tensor], states: Tensor, tokens: Tensor | None) -> Tensor:
    """The product of the states at tokens, and zeros elsewhere."""
    if tokens is None:
        return multiply(states)
    product = multiply(states.flatten(0, 1)[tokens])
    everywhere = product.new_zeros(states.shape[0] * states.shape[1], product.shape[1])
    everywhere[tokens] = product
    return everywhere.reshape(*states.shape[:2], -1)


def _pack(matrix: Tensor) -> Tensor:
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), None)
    return packed


def _multiply(states: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(states.contiguous(), packed, bias, "none", [], "")
    return product


def _linear_maps(lm: LM) -> list[Any]:
    blocks = [module for n in range(lm.layout.depth) for module in lm.block(n).modules()]
    return [module for module in (*blocks, lm.module(lm.layout.head)) if type(module) in (nn.Linear, Conv1D)]
