"""Which storage lies on which device, and how much memory of it is taken: a model of PyTorch's caching allocator."""

from __future__ import annotations

import collections
import gc
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

ROOT = str(Path(__file__).parents[3]) + "/"
_OWN = str(Path(__file__).parent) + "/"
_PRODUCT = tuple(f"{ROOT}{name}/" for name in ("evaluation", "curation", "construction", "benchmarks"))


def place() -> str:
    """The innermost line of the product on the stack, else the innermost of a test: ``file:line function``."""
    frame, other = sys._getframe(1), ""
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if name.startswith(_PRODUCT):
            return f"{name[len(ROOT) :]}:{frame.f_lineno} {code.co_name}"
        if not other and name.startswith(ROOT) and not name.startswith((_OWN, f"{ROOT}.venv/")):
            other = f"{name[len(ROOT) :]}:{frame.f_lineno} {code.co_name}"
        frame = frame.f_back  # type: ignore[assignment]
    return other or "?"


CPU = torch.device("cpu")


class _Block(NamedTuple):
    alive: StorageWeakRef
    """Keeps the address of the storage from being given to another one, so an address names one storage."""
    device: torch.device
    size: int


class DeviceMemory:
    """Memory of one device.

    Attributes:
        capacity: Bytes.
        live: Bytes of storages that are alive (an upper bound between two sweeps). ``peak``: their most at once.
        reserved: Bytes that the allocator holds: it keeps what was freed until ``empty_cache``, or until it must give
            back blocks to serve a request.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.live = self.peak = self.reserved = self.most_reserved = 0

    def take(self, size: int) -> None:
        """Count a block that fits."""
        self.live += size
        self.peak = max(self.peak, self.live)
        self.reserved = max(self.reserved, self.live)
        self.most_reserved = max(self.most_reserved, self.reserved)


class Memory:
    """All devices' memory and the table of storages that lie on them.

    Args:
        capacity: Bytes of every device.
        devices: How many.
    """

    def __init__(self, capacity: int, devices: int) -> None:
        self.devices = [DeviceMemory(capacity) for _ in range(devices)]
        self.refused: collections.Counter[str] = collections.Counter()
        self._blocks: dict[int, _Block] = {}

    def device_of(self, tensor: Tensor) -> torch.device:
        """Where a tensor lies; those without a storage (meta) say it themselves, packed ones lie on the CPU."""
        if tensor.layout is torch._mkldnn:  # type: ignore[attr-defined]
            return CPU
        block = self._blocks.get(tensor.untyped_storage()._cdata)
        return CPU if block is None else block.device

    def place(self, tensor: Tensor, device: torch.device) -> None:
        """Say that a tensor's storage lies on a device from now on.

        Raises:
            OutOfMemoryError: the device has no room; nothing is changed then.
        """
        storage = tensor.untyped_storage()
        key = storage._cdata
        old = self._blocks.get(key)
        if old is not None and old.device == device:
            return
        if device.type == "cuda":
            self._allocate(device, storage.nbytes())
            self._blocks[key] = _Block(StorageWeakRef(storage), device, storage.nbytes())
        else:
            self._blocks.pop(key, None)
        if old is not None:
            self.devices[old.device.index].live -= old.size

    def _allocate(self, device: torch.device, size: int) -> None:
        own = self.devices[device.index]
        if own.live + size > own.peak or own.live + size > own.reserved:
            self.sweep()
        if own.live + size > own.capacity:
            gc.collect()  # a real device frees at once what a cycle of Python objects here may still hold
            self.sweep()
        if own.live + size > own.capacity:
            self.refused[place()] += 1
            raise torch.cuda.OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size} bytes, {own.live} of {own.capacity} are taken"
            )
        own.take(size)

    def sweep(self) -> None:
        """Forget storages that are gone."""
        for key in [key for key, block in self._blocks.items() if block.alive.expired()]:
            block = self._blocks.pop(key)
            self.devices[block.device.index].live -= block.size
