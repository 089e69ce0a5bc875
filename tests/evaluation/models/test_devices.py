"""Memory errors and free memory, copies to a device, activations as one operation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

from evaluation.inference.batching import SHARE, default_budget
from evaluation.models.devices import device_fault, fused_activations, out_of_memory
from evaluation.models.language_model import LM
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make

SHORTAGES = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    MemoryError("no"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: not enough memory: you tried to allocate 9"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`"),
    torch.AcceleratorError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    RuntimeError("cusolver error: CUSOLVER_STATUS_NOT_INITIALIZED, when calling `cusolverDnCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("CUDA error: CUSPARSE_STATUS_ALLOC_FAILED when calling `cusparseCreate(handle)`"),
    RuntimeError("cuFFT error: CUFFT_ALLOC_FAILED"),
    RuntimeError("CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`"),
    torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in the documentation."),
    RuntimeError("HIP out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes. Error code 12"),
    RuntimeError("unable to mmap 4096 bytes from file: Cannot allocate memory (12)"),
    RuntimeError("std::bad_alloc"),
]
FAULTS = [
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"),
    torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
]
REFUSALS = [
    RuntimeError("The size of tensor a (4) must match the size of tensor b (3)"),
    TypeError("forward() got an unexpected keyword argument 'position_ids'"),
    ValueError("this model takes no four-dimensional mask, out of memory of its cache"),
]


@pytest.mark.parametrize("error", SHORTAGES, ids=str)
def test_every_way_of_saying_that_memory_ran_out(error: Exception) -> None:
    assert out_of_memory(error) and device_fault(error)


@pytest.mark.parametrize("error", FAULTS, ids=str)
def test_a_fault_of_the_device_is_no_shortage(error: Exception) -> None:
    assert device_fault(error) and not out_of_memory(error)


@pytest.mark.parametrize("error", REFUSALS, ids=str)
def test_a_refusal_of_a_model_is_neither(error: Exception) -> None:
    assert not device_fault(error) and not out_of_memory(error)


def test_a_budget_does_not_collapse_after_a_large_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The allocator keeps what a pass has freed, so the driver has little left; the next budget is the first one."""
    lm, held = make("llama"), {"reserved": 0, "free": 40 * 2**30}
    monkeypatch.setattr(type(lm), "device", torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (held["free"], 80 * 2**30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: held["reserved"])
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
    before = default_budget(lm).tokens
    held.update(reserved=39 * 2**30, free=2**30)
    assert default_budget(lm).tokens == before
    assert before == int(SHARE * 40 * 2**30 / (4 * (8 * lm.layout.width + 3 * lm.layout.inner)))


def activations(lm: LM) -> list[nn.Module]:
    return [module for module in lm.model.modules() if isinstance(module, (NewGELUActivation, FastGELUActivation))]


def forth_and_back(run: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.clone().requires_grad_()
    out = run(x)
    (slope,) = torch.autograd.grad(out.square().sum(), x)
    return out.detach(), slope


@pytest.mark.parametrize("form", ["gelu_new", "gelu_fast"])
def test_equal_to_the_modules_own(form: str) -> None:
    with fake_gpu():
        lm = make("gpt2", activation_function=form)
        lm.model.to("cuda")
        modules = activations(lm)
        assert len(modules) == lm.layout.depth
        x = torch.linspace(-9, 9, 4001, device="cuda")
        want = forth_and_back(modules[0], x)
        with fused_activations(lm):
            assert all("forward" in module.__dict__ for module in modules)
            got = forth_and_back(modules[0], x)
        assert not any("forward" in module.__dict__ for module in modules)
    for a, b in zip(got, want, strict=True):
        assert torch.allclose(a.cpu(), b.cpu(), rtol=1e-5, atol=2e-6)


def test_a_cpu_and_narrow_types_keep_the_modules_way() -> None:
    lm = make("gpt2")
    if lm.device.type == "cpu":
        with fused_activations(lm):
            assert not any("forward" in module.__dict__ for module in activations(lm))
    with fake_gpu():
        narrow = make("gpt2", dtype=torch.bfloat16)
        narrow.model.to("cuda")
        with fused_activations(narrow):
            assert not any("forward" in module.__dict__ for module in activations(narrow))
