"""Sums of k kᵀ while a pass goes on: float64 on the host, float32 on a CUDA device over a stretch of tokens at a time.

The keys of an 8B model have 14,336 entries: one sum in float64 takes 1.5 GiB, and products of float32 take longer than
the model's own passes in bfloat16. On a CUDA device the keys are therefore multiplied as they are (a product of two
bfloat16 numbers is exact in float32) and added in float32, 0.8 GiB a layer, and that sum is added to the float64 one
in the memory of the host every ``STRETCH`` tokens. On a CPU every batch is added to the float64 sum at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from evaluation.models.device_memory import device_fault, least_free_bytes

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

STRETCH = 2**20
"""Tokens whose sum is float32 on a CUDA device: five layers of an 8B model take some five seconds to bring home."""

DEVICE_SHARE = 0.5
"""Of a CUDA device's free memory, for float32 sums; layers beyond it have a pass of their own."""

HOST_BYTES = 16 * 2**30
"""Of the host's memory, for float64 sums of one pass."""

_NARROW = (torch.bfloat16, torch.float16)


class RunningSums:
    """Sums of several layers.

    Args:
        totals: Float64 [inner, inner] by layer, on the CPU: what is there already.

    Attributes:
        stretch: Tokens in the float32 sums, which are not in ``totals`` yet; 0 on a CPU.
    """

    def __init__(self, totals: Mapping[int, Tensor]) -> None:
        self.totals, self.stretch = totals, 0
        self._parts: dict[int, Tensor] = {}  # on CUDA devices, each where its layer's keys come from

    def add(self, layer: int, keys: Tensor) -> None:
        """Add the outer products of keys [tokens, inner], in the type in which the model gives them."""
        if keys.device.type != "cuda":
            wide = keys.float()
            self.totals[layer].add_(wide.T @ wide)
            return
        part = self._parts.get(layer)
        if part is None:
            part = torch.zeros(self.totals[layer].shape, dtype=torch.float32, device=keys.device)
            self._parts[layer] = part
        if keys.dtype in _NARROW and multiplies_wide(keys.device, keys.dtype):
            torch.addmm(part, keys.T, keys, out_dtype=torch.float32, out=part)
        else:
            wide = keys.float()
            part.addmm_(wide.T, wide)

    def count(self, tokens: int) -> None:
        """Told after a window; float32 sums that are long enough go into the float64 ones."""
        if self._parts:
            self.stretch += tokens
        if self.stretch >= STRETCH:
            self.settle()

    def settle(self) -> None:
        """Add the float32 sums to the float64 ones, and begin new ones."""
        for layer, part in self._parts.items():
            self.totals[layer].add_(part.cpu())
            part.zero_()
        self.stretch = 0


@cache
def multiplies_wide(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a device multiplies narrow numbers with float32 sums (PyTorch 2.8 on CUDA); tried on a small product."""
    draw = torch.Generator().manual_seed(0)
    keys = torch.randn(64, 16, generator=draw).to(device, dtype)
    part, exact = torch.ones(16, 16, device=device), keys.float().T @ keys.float() + 1
    try:
        torch.addmm(part, keys.T, keys, out_dtype=torch.float32, out=part)
    except (RuntimeError, TypeError) as error:  # NotImplementedError is a RuntimeError
        if device_fault(error):
            raise
        log.info("this PyTorch adds products of %s on %s in float32 only after widening them", dtype, device)
        return False
    return bool(((part - exact).abs() < 1e-3).all())


def layers_a_pass(lm: LM, layers: Sequence[int]) -> Iterator[list[int]]:
    """The layers in lists that one pass sums: as many as the memory of device and host holds."""
    entries = lm.layout.inner**2
    layer_limit = HOST_BYTES // (8 * entries)
    if lm.device.type == "cuda":
        layer_limit = min(layer_limit, int(DEVICE_SHARE * least_free_bytes(lm.devices)) // (4 * entries))
    layer_limit = max(1, layer_limit)
    if layer_limit < len(layers):
        log.warning("the sums of %d layers do not fit into memory together: passes of %d", len(layers), layer_limit)
    for start in range(0, len(layers), layer_limit):
        yield list(layers[start : start + layer_limit])
