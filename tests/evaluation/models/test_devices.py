"""Devices, a fixed order of sums, packed weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

from evaluation.inference.batching import SHARE, default_budget
from evaluation.models import packed_weights as module
from evaluation.models.devices import device_fault, fused_activations, out_of_memory
from evaluation.models.language_model import LM
from evaluation.models.loading import WORKSPACE, fix_order, fixed_order
from evaluation.models.packed_weights import PackedMap, has_packed_product, packed_weights
from tests.support.fake_device import fake_gpu
from tests.support.tiny import CONFIGS, make

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


def state() -> tuple[bool, bool, str | None]:
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns, os.environ.get(WORKSPACE)


def test_on_inside_the_block_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKSPACE, raising=False)
    before = state()
    with fixed_order():
        assert state() == (True, True, ":4096:8")
    assert state() == before == (False, False, None)
    with pytest.raises(ZeroDivisionError), fixed_order():
        raise ZeroDivisionError
    assert state() == before


def test_what_a_person_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE, ":16:8")
    try:
        torch.use_deterministic_algorithms(True)
        with fixed_order():
            assert state() == (True, True, ":16:8")
        assert state() == (True, False, ":16:8"), "a stricter setting of the process comes back"
    finally:
        torch.use_deterministic_algorithms(False)
    try:
        fix_order()
        assert state() == (True, True, ":16:8")
    finally:
        torch.use_deterministic_algorithms(False)


packable = pytest.mark.skipif(not has_packed_product(), reason="this build of PyTorch has no packed product")


def logits_and_gradient(lm: LM) -> tuple[Tensor, Tensor]:
    """Logits of a padded pass, and the gradient of a number made of them with respect to the first block's input."""
    ids, mask = lm.pad([(5, 6, 7, 8, 9, 10), (11, 12, 13)])
    states = torch.linspace(-1, 1, ids.numel() * lm.layout.width).reshape(*ids.shape, -1).requires_grad_()
    handle = lm.model.get_input_embeddings().register_forward_hook(lambda *_: states)
    try:
        with torch.enable_grad():
            logits: Tensor = lm.model(input_ids=ids, attention_mask=mask).logits[mask.bool()]
            (gradient,) = torch.autograd.grad(logits.square().mean(), states)
    finally:
        handle.remove()
    return logits.detach(), gradient


def close(actual: Tensor, expected: Tensor) -> bool:
    return torch.allclose(actual, expected, atol=1e-5 + 1e-4 * float(expected.abs().max()))


def maps_in_use(lm: LM) -> list[PackedMap]:
    forwards = [m.__dict__.get("forward") for m in lm.model.modules()]
    return [forward for forward in forwards if isinstance(forward, PackedMap)]


@packable
@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_and_gradients_are_those_of_the_modules(kind: str) -> None:
    lm = make(kind)
    expected, digest = logits_and_gradient(lm), lm.weights_digest()
    with packed_weights(lm):
        assert maps_in_use(lm)
        with packed_weights(lm):  # an inner block leaves the outer one's maps alone
            pass
        for actual, want in zip(logits_and_gradient(lm), expected, strict=True):
            assert close(actual, want)
    assert not maps_in_use(lm) and lm.weights_digest() == digest


CHANGES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda weight: weight.mul_(2),
    "behind autograd's back": lambda weight: weight.data.mul_(2),
    "other memory": lambda weight: setattr(weight, "data", 2 * weight.data),
}


@packable
@pytest.mark.parametrize("change", CHANGES)
def test_a_weight_that_changed_is_packed_again(change: str) -> None:
    lm = make("llama")
    with packed_weights(lm):
        before, _ = logits_and_gradient(lm)
    with torch.no_grad():
        CHANGES[change](lm.projection(1).weight)
    expected = logits_and_gradient(lm)
    assert not close(expected[0], before)
    with packed_weights(lm):
        for actual, want in zip(logits_and_gradient(lm), expected, strict=True):
            assert close(actual, want)


@packable
def test_a_weight_in_training_gets_its_gradient() -> None:
    lm = make("llama")
    weight: Any = lm.projection(1).weight
    weight.requires_grad_(True)
    with packed_weights(lm), torch.enable_grad():
        lm.model(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().backward()
    assert weight.grad is not None and float(weight.grad.abs().max()) > 0


@pytest.mark.parametrize("reason", ["too large", "no operation", "narrow type"])
def test_modules_keep_their_own_products_otherwise(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama", dtype=torch.bfloat16 if reason == "narrow type" else torch.float32)
    if reason == "too large":
        monkeypatch.setattr(module, "MAX_BYTES", 100)
    if reason == "no operation":
        monkeypatch.setattr(module, "has_packed_product", lambda: False)
    with packed_weights(lm):
        assert not maps_in_use(lm)
