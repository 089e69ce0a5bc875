"""Memory errors and free memory, copies to a device, activations as one operation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning.training import most_edits
from evaluation.editors.presets import make_editor
from evaluation.inference.batching import SHARE, default_budget
from evaluation.inference.generation import writing_budget
from evaluation.models import devices
from evaluation.models.devices import device_fault, free_bytes, fused_activations, out_of_memory, send
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


def test_what_the_allocator_holds_unused_counts_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    gib = 2**30
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (gib, 80 * gib))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 70 * gib)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 16 * gib)
    assert free_bytes(torch.device("cuda:1")) == 55 * gib


def test_budgets_of_texts_and_of_training_ask_the_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lm = make("llama")
    editor = make_editor("ft", lm, Cache(tmp_path), {"layer": 1})
    on_cpu = writing_budget(lm).tokens, most_edits(lm, editor.bytes_an_edit)
    monkeypatch.setattr(type(lm), "device", torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**34, 2**36))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 2**34)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2**33)
    writing, training = writing_budget(lm).tokens, most_edits(lm, editor.bytes_an_edit)
    assert (writing, training) != on_cpu
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2**34)
    assert writing == pytest.approx(1.5 * writing_budget(lm).tokens, rel=1e-3)
    assert training == pytest.approx(1.5 * most_edits(lm, editor.bytes_an_edit), rel=1e-3)


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


def test_a_pass_that_keeps_fewer_blocks_for_the_way_back_may_have_more_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, narrow = make("llama"), make("llama", dtype=torch.bfloat16)
    monkeypatch.setattr(type(lm), "device", torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**34, 2**35))
    for name in ("memory_reserved", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda device: 0)
    all_of_them, upper = (default_budget(lm, gradients=True, blocks=n).tokens for n in (lm.layout.depth, 1))
    assert all_of_them == default_budget(lm, gradients=True).tokens
    assert upper == pytest.approx(lm.layout.depth * all_of_them, rel=1e-4)
    assert default_budget(narrow, gradients=True).tokens == pytest.approx(2 * all_of_them, rel=1e-4), "half as wide"


def test_a_container_may_allow_less_than_the_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new, old, none = tmp_path / "new", tmp_path / "old", tmp_path / "none"
    for folder, names in ((new, ("max", "current")), (old / "memory", ("limit_in_bytes", "usage_in_bytes"))):
        folder.mkdir(parents=True)
        for name, value in zip(names, (1000, 700), strict=True):
            (folder / f"memory.{name}").write_text(f"{value}\n")
    (new / "memory.stat").write_text("anon 600\ninactive_file 50\nactive_file 50\n")
    (old / "memory" / "memory.stat").write_text("rss 600\ntotal_inactive_file 60\n")
    assert devices._container_bytes(new) == 350 and devices._container_bytes(old) == 360
    (new / "memory.current").write_text("1200\n")
    assert devices._container_bytes(new) == 0, "above its limit for a moment"
    (new / "memory.max").write_text("max\n")
    assert devices._container_bytes(new) is None and devices._container_bytes(none) is None
    monkeypatch.setattr(devices, "_host_bytes", lambda: 5000)
    for allowed, least in ((350, 350), (9000, 5000), (None, 5000), (0, 0)):
        monkeypatch.setattr(devices, "_container_bytes", lambda allowed=allowed: allowed)
        assert devices.available_bytes(torch.device("cpu")) == least


def test_the_machines_own_memory_where_it_is_told(tmp_path: Path) -> None:
    told = devices.available_bytes(torch.device("cpu"))
    assert told is None or told > 2**20
    assert devices.available_bytes(torch.device("meta")) is None
    (tmp_path / "good").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    (tmp_path / "old").write_text("MemTotal: 9 kB\n")
    (tmp_path / "odd").write_text("MemAvailable: much\n")
    assert devices._host_bytes(tmp_path / "good") == 2048 * 1024
    assert all(devices._host_bytes(tmp_path / name) is None for name in ("old", "odd", "absent"))


def test_values_and_type() -> None:
    tensor = send([[1, 2], [3, 4]], torch.device("cpu"))
    assert tensor.dtype == torch.long and tensor.tolist() == [[1, 2], [3, 4]]
    assert send(torch.tensor([0.5]), torch.device("cpu")).dtype == torch.float32
    assert send([], torch.device("cpu")).shape == (0,)


def test_the_host_does_not_wait() -> None:
    with fake_gpu() as machine:
        tensor = send([1, 2], torch.device("cuda:0"))
        assert tensor.is_cuda and machine.counts.to_device.total() == 1
        assert machine.counts.waits == machine.counts.stalls.total() == 0
        torch.tensor([1, 2], device="cuda:0")
        assert machine.counts.stalls.total() == 1, "the usual way waits"
        assert tensor.tolist() == [1, 2]


def activations(lm: LM) -> list[nn.Module]:
    return [module for module in lm.model.modules() if isinstance(module, (NewGELUActivation, FastGELUActivation))]


def forth_and_back(run: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.clone().requires_grad_()
    out = run(x)
    (slope,) = torch.autograd.grad(out.square().sum(), x)
    return out.detach(), slope


@pytest.mark.parametrize("form", ["gelu_new", "gelu_fast"])
def test_equal_to_the_modules_own(form: str) -> None:
    with fake_gpu() as machine:
        lm = make("gpt2", activation_function=form)
        lm.model.to("cuda")
        modules = activations(lm)
        assert len(modules) == lm.layout.depth
        x = torch.linspace(-9, 9, 4001, device="cuda")
        machine.counts.clear()
        want = forth_and_back(modules[0], x)
        launches = machine.counts.launches.total()
        machine.counts.clear()
        with fused_activations(lm):
            assert all("forward" in module.__dict__ for module in modules)
            got = forth_and_back(modules[0], x)
        fused = machine.counts.launches.total()
        assert not any("forward" in module.__dict__ for module in modules)
    for a, b in zip(got, want, strict=True):
        assert torch.allclose(a.cpu(), b.cpu(), rtol=1e-5, atol=2e-6)
    assert 2 * fused < launches, "one each way, beside those of this test's own sum"


@pytest.mark.parametrize("broken", [RuntimeError, KeyboardInterrupt])
def test_taken_off_whatever_happens(broken: type[BaseException]) -> None:
    with fake_gpu():
        lm = make("gpt2")
        lm.model.to("cuda")
        with pytest.raises(broken), fused_activations(lm):
            raise broken
        assert not any("forward" in module.__dict__ for module in activations(lm))


def test_what_others_put_there_stays() -> None:
    def own(x: Tensor) -> Tensor:
        return x

    with fake_gpu():
        lm = make("gpt2")
        lm.model.to("cuda")
        first, *others = activations(lm)
        first.forward = own
        with fused_activations(lm):
            assert first.forward is own and all("forward" in module.__dict__ for module in others)
        assert first.forward is own


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
