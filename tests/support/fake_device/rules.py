"""What a CUDA device refuses, by operation of aten."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tests.support.fake_device.memory import CPU, place

aten = torch.ops.aten

INDEXING = frozenset(
    {
        aten.index.Tensor,
        aten.index_put.default,
        aten.index_put_.default,
        aten._index_put_impl_.default,
        aten._unsafe_index.Tensor,
        aten._unsafe_index_put.default,
    }
)
COPYING = frozenset({aten.copy_.default, aten._to_copy.default, aten.copy.default})


class Refused(RuntimeError):
    """What the device would not do."""


class Located(NamedTuple):
    """A tensor and where it lies."""

    tensor: Tensor
    device: torch.device


class Counts:
    """What was refused, by place in our code."""

    def __init__(self) -> None:
        self.refused: collections.Counter[str] = collections.Counter()

    def refuse(self, what: str) -> None:
        """Record and raise.

        Raises:
            Refused: always.
        """
        at = place()
        self.refused[f"{at}: {what}"] += 1
        raise Refused(f"{what}, at {at}")


def computing_device(func: Any, args: Sequence[Any], tensors: Sequence[Located], counts: Counts) -> torch.device:
    """The device that an operation computes on.

    Raises:
        Refused: its tensors lie on several in a way that CUDA does not take.
    """
    if not tensors:
        return CPU
    device = tensors[0].device
    if func in COPYING:
        return device
    if func in INDEXING:
        return _indexed(func, args, tensors, counts)
    devices = {t.device for t in tensors if t.tensor.ndim or t.device.type != "cpu"}
    if len(devices) > 1:
        text = ", ".join(f"{tuple(t.tensor.shape)} on {t.device}" for t in tensors)
        counts.refuse(f"Expected all tensors to be on the same device, but {func} got {text}")
    return devices.pop() if devices else CPU


def _indexed(func: Any, args: Sequence[Any], tensors: Sequence[Located], counts: Counts) -> torch.device:
    """Indices may lie on the CPU (they are copied), values may not unless they are single numbers."""
    devices = {id(t.tensor): t.device for t in tensors}
    device = tensors[0].device
    values = args[2] if len(args) > 2 and isinstance(args[2], Tensor) else None
    for index in (x for x in args[1] if isinstance(x, Tensor)):
        if devices[id(index)] not in (device, CPU):
            counts.refuse(f"indices should be either on cpu or on the same device as the indexed tensor ({device})")
    if values is not None and devices[id(values)] != device and values.ndim:
        counts.refuse(f"Expected all tensors to be on the same device, but {func} got values on {devices[id(values)]}")
    return device
