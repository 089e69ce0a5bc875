"""Devices: memory errors and free memory, copies without a wait, and activations that run as one operation on CUDA."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor
from torch.nn.functional import gelu

_TEXTS = (
    "not enough memory",  # the CPU allocator
    "allocate memory",  # "can't allocate memory" of the same, "Cannot allocate memory" of the system (ENOMEM)
    "bad_alloc",  # C++
    "bad allocation",
    "out of memory",  # "CUDA error: out of memory", "HIP out of memory"
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUFFT_ALLOC_FAILED",
    "HIPBLAS_STATUS_ALLOC_FAILED",
    "HIPSOLVER_STATUS_ALLOC_FAILED",
    "hipErrorOutOfMemory",
    "cudaErrorMemoryAllocation",
    "CUSOLVER_STATUS_NOT_INITIALIZED",
    "CUBLAS_STATUS_NOT_INITIALIZED",  # their handles are made at first use and need memory too
)
_FAULTS = (
    "CUDA error",
    "HIP error",
    "device-side assert",
    "CUBLAS_STATUS",
    "CUSOLVER_STATUS",
    "CUDNN_STATUS",
    "on the same device",
)


def free_bytes(device: torch.device) -> int:
    """Bytes of a CUDA device that a new tensor may take.

    That is what the driver has left and what PyTorch's allocator holds without using it: after a large pass the driver
    reports nearly nothing, though the next pass is given the same memory.
    """
    driver, _ = torch.cuda.mem_get_info(device)
    return driver + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def least_free_bytes(devices: Iterable[torch.device]) -> int:
    """Bytes that every one of several CUDA devices has: a model that is spread over them needs room on each."""
    return min(free_bytes(device) for device in devices if device.type == "cuda")


def available_bytes(device: torch.device) -> int:
    """Bytes that new tensors may take on a CUDA device, or of this machine's own memory."""
    return free_bytes(device) if device.type == "cuda" else int(psutil.virtual_memory().available)


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out: PyTorch's own, Python's, a library's of the device.

    Example:
        >>> out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
        True
        >>> out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
        False
    """
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _TEXTS)


def device_fault(error: BaseException) -> bool:
    """Whether an exception comes from the device or from tensors on several devices, not from a model's own refusal.

    Example:
        >>> device_fault(RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu!"))
        True
        >>> device_fault(TypeError("forward() got an unexpected keyword argument 'position_ids'"))
        False
    """
    return out_of_memory(error) or (isinstance(error, RuntimeError) and any(text in str(error) for text in _FAULTS))


def free_memory() -> None:
    """Give back what is no longer used, before a smaller pass is tried."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def send(values: Sequence[Any] | Tensor, device: torch.device) -> Tensor:
    """Whole numbers as a tensor on a device; on CUDA the host does not wait for the copy or for what runs before it.

    ``torch.tensor(values, device="cuda")`` and indexing by a list wait until everything in the stream is done.

    Args:
        values: Nested lists of whole numbers, or a CPU tensor (of any type).
        device: Where they are to lie.

    Example:
        >>> send([[1, 2], [3, 4]], torch.device("cpu")).shape
        torch.Size([2, 2])
    """
    host = values if isinstance(values, Tensor) else torch.from_numpy(np.array(values, dtype=np.int64))
    if device.type != "cuda":
        return host.to(device)
    return host.pin_memory().to(device, non_blocking=True)


@contextmanager
def fused_activations(lm: Any) -> Iterator[None]:
    """GELUs in the tanh form (Hendrycks & Gimpel 2016, §4) are one operation in the block, in float32 on CUDA devices.

    The modules of GPT-2 and its kin write it as eight operations, each of which reads and writes the widest tensor.
    Narrow types keep the modules' way: it rounds after each of its operations, which one operation does not.
    """
    from transformers.activations import FastGELUActivation, NewGELUActivation

    wanted = lm.dtype == torch.float32 and any(device.type == "cuda" for device in lm.devices)
    placed = []
    try:
        for module in lm.model.modules() if wanted else ():
            replaced = "forward" in module.__dict__  # by others: it stays
            if type(module) in (NewGELUActivation, FastGELUActivation) and not replaced:
                module.forward = partial(gelu, approximate="tanh")
                placed.append(module)
        yield
    finally:
        for module in placed:
            module.__dict__.pop("forward", None)
