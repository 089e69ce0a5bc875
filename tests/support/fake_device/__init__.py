"""Pretended CUDA devices on a CPU: real values, real gradients, and the refusals and memory of a real device.

Every tensor is a CPU tensor; a *storage* that "lies on" a device is remembered as such. One mode of PyTorch answers
``.device``, moves and factories, another looks at every operation. ``torch.cuda`` answers as if the devices were there,
so the branches of the product for CUDA run. It knows rules, not kernels: no numerics of a device, no attention kernels,
no late errors, no fragmentation.

Example:
    >>> with fake_gpu() as machine:
    ...     x = torch.ones(2, device="cuda") * 2
    ...     x.device, x.tolist(), machine.counts.refused.total()
    (device(type='cuda', index=0), [2.0, 2.0], 0)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch

from evaluation.editors.in_context import retrieval
from tests.support.fake_device.memory import DeviceMemory, Memory
from tests.support.fake_device.modes import DeviceMode, Machine, OperationMode, full_name
from tests.support.fake_device.rules import Refused

__all__ = ["Machine", "Refused", "fake_gpu"]

GIB = 2**30


@contextmanager
def fake_gpu(*, memory: int = 16 * GIB, devices: int = 1) -> Iterator[Machine]:
    """A machine with CUDA devices for the time of the block.

    Args:
        memory: Bytes of each device. ``devices``: how many.
    """
    machine = Machine(Memory(memory, devices))
    with ExitStack() as stack:
        for name, answer in _answers(machine).items():
            stack.enter_context(patch.object(torch.cuda, name, answer))
        stack.enter_context(
            patch.object(torch.optim.Optimizer, "_group_tensors_by_device_and_dtype", _grouped(machine))
        )
        encoders = cache(retrieval._embedder.__wrapped__)  # encoders too
        stack.enter_context(patch.object(retrieval, "_embedder", encoders))
        stack.enter_context(OperationMode(machine))
        stack.enter_context(DeviceMode(machine))
        yield machine


def _answers(machine: Machine) -> dict[str, Any]:
    """What ``torch.cuda`` says."""
    memory = machine.memory

    def own(device: Any = None) -> DeviceMemory:
        memory.sweep()
        return memory.devices[0 if device is None else full_name(device).index]

    def empty_cache() -> None:
        memory.sweep()
        for one in memory.devices:
            one.reserved = one.live

    def reset(device: Any = None) -> None:
        one = own(device)
        one.peak, one.most_reserved = one.live, one.reserved

    properties = SimpleNamespace(
        name="Pretended", major=9, minor=0, total_memory=own().capacity, multi_processor_count=1
    )
    return {
        "is_available": lambda: True,
        "is_current_stream_capturing": lambda: False,  # a CUDA build without a driver fails to say it
        "device_count": lambda: len(memory.devices),
        "current_device": lambda: 0,
        "synchronize": lambda device=None: None,
        "empty_cache": empty_cache,
        "mem_get_info": lambda device=None: ((one := own(device)).capacity - one.reserved, one.capacity),
        "memory_allocated": lambda device=None: own(device).live,
        "memory_reserved": lambda device=None: own(device).reserved,
        "max_memory_allocated": lambda device=None: own(device).peak,
        "max_memory_reserved": lambda device=None: own(device).most_reserved,
        "reset_peak_memory_stats": reset,
        "get_device_name": lambda device=None: properties.name,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "is_bf16_supported": lambda *a, **k: True,
        "get_rng_state": lambda *a, **k: torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": lambda *a, **k: None,
        "manual_seed_all": lambda *a: None,
    }


def _grouped(machine: Machine) -> Any:
    """Optimisers work on the tensors of one device and type at a time."""
    real = torch.optim.Optimizer._group_tensors_by_device_and_dtype

    def grouped(lists: Any, with_indices: bool = False) -> Any:
        out = {}
        devices = dict.fromkeys(machine.device_of(t) for t in lists[0])
        for device in devices:
            keep = [n for n, t in enumerate(lists[0]) if machine.device_of(t) == device]
            for (_, dtype), (own, places) in real(
                [[x[n] for n in keep] if x else x for x in lists], with_indices
            ).items():
                out[device, dtype] = (own, [keep[n] for n in places] if places is not None else places)
        return out

    return staticmethod(grouped)
