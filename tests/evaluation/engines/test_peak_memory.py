"""Peak memory: what was held at once since the beginning, not what was held before or is held now."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from evaluation.engines import peak_memory
from evaluation.engines.peak_memory import PeakMemory

MIB = 2**20


def hold(size: int) -> None:
    """Touch so many bytes, then give them back to the system."""
    with mmap.mmap(-1, size) as block:
        for at in range(0, size, mmap.PAGESIZE):
            block[at] = 1


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak since a moment")
def test_it_sees_what_was_given_back_and_forgets_what_was_before() -> None:
    hold(256 * MIB)
    memory = PeakMemory("cpu")
    base = memory.read()
    hold(128 * MIB)
    peak = memory.read()
    assert 100 * MIB < peak - base < 200 * MIB, "it is held no longer, and counts; what was before does not"
    assert peak - PeakMemory("cpu").read() > 64 * MIB, "a new count begins with what is held now"


def test_without_the_kernels_files_the_peak_of_the_process_stands_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = PeakMemory("cpu").read()
    monkeypatch.setattr(peak_memory, "_CLEAR", tmp_path / "no" / "clear")
    monkeypatch.setattr(peak_memory, "_STATUS", tmp_path / "no" / "status")
    assert PeakMemory("cpu").read() >= memory // 2 > MIB, "bytes, not kilobytes"


@pytest.mark.gpu
def test_on_a_gpu_it_is_what_was_allocated_there() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    memory = PeakMemory("cuda")
    before = memory.read()
    torch.zeros(64 * MIB, dtype=torch.uint8, device="cuda")
    assert memory.read() - before >= 64 * MIB
