"""What a CUDA device refuses and what it waits for, by operation of aten."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tests.support.fake_device.memory import CPU
from tests.support.fake_device.places import place

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
WAITING = frozenset(
    {
        aten._local_scalar_dense.default,  # item, float(), bool(), int()
        aten.equal.default,
        aten.is_nonzero.default,
        aten.nonzero.default,  # sizes that only the device knows
        aten.masked_select.default,
        aten._unique2.default,
        aten.unique_dim.default,
        aten.unique_consecutive.default,
        aten.bincount.default,
        aten.repeat_interleave.Tensor,
        aten.linalg_eigh.default,  # solvers that look at their own error code
        aten._linalg_eigh.default,
        aten.linalg_cholesky.default,
        aten._linalg_svd.default,
    }
)
"""``cholesky_ex``, ``solve_ex`` and ``inv_ex`` hand the code back instead, and do not wait."""


class Refused(RuntimeError):
    """What the device would not do."""


class Located(NamedTuple):
    """A tensor and where it lies."""

    tensor: Tensor
    device: torch.device


class Counts:
    """What happened, by place in our code.

    Attributes:
        syncs: The host waited for the device.
        to_device: Copies to a device. ``stalls``: those of them that the host waits for, that is all but those that
            are told not to (``non_blocking``).
        to_host: Copies back; each waits as well and is not counted in ``syncs``.
        launches: Operations on a device that compute.
        refused: What was refused.
    """

    def __init__(self) -> None:
        self.syncs: collections.Counter[str] = collections.Counter()
        self.to_device: collections.Counter[str] = collections.Counter()
        self.stalls: collections.Counter[str] = collections.Counter()
        self.to_host: collections.Counter[str] = collections.Counter()
        self.launches: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()

    def clear(self) -> None:
        """Begin anew; refusals stay."""
        for one in (self.syncs, self.to_device, self.stalls, self.to_host, self.launches):
            one.clear()

    @property
    def waits(self) -> int:
        """How often the host waited: syncs and copies back."""
        return self.syncs.total() + self.to_host.total()

    def moved(self, source: torch.device, to: torch.device, *, waits: bool = True) -> None:
        """Count a copy between devices."""
        if to.type == "cuda" and source.type == "cpu":
            self.to_device[place()] += 1
            if waits:
                self.stalls[place()] += 1
        elif to.type == "cpu" and source.type == "cuda":
            self.to_host[place()] += 1

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
        if func is aten.copy_.default and len(tensors) > 1 and tensors[1].device != device:
            counts.moved(tensors[1].device, device)
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
        lies = devices[id(index)]
        if device.type == "cuda" and index.dtype == torch.bool and (values is None or values.numel() != 1):
            counts.syncs[place()] += 1  # how many are true
        if lies == device:
            continue
        if lies.type != "cpu":
            counts.refuse(f"indices should be either on cpu or on the same device as the indexed tensor ({device})")
        counts.moved(lies, device)
    if values is not None and devices[id(values)] != device and values.ndim:
        counts.refuse(f"Expected all tensors to be on the same device, but {func} got values on {devices[id(values)]}")
    return device
