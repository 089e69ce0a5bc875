"""Memory of the fake device: what is alive, the peak, the caching allocator's way of keeping it, shortage."""

from __future__ import annotations

import pytest
import torch

from tests.support.fake_device import fake_gpu

KIB = 1024


def block(kib: int, card: int = 0) -> torch.Tensor:
    return torch.zeros(kib * KIB, dtype=torch.uint8, device=f"cuda:{card}")


def test_live_and_peak_are_exact() -> None:
    with fake_gpu(memory=64 * KIB):
        tensor = block(8)
        for _ in range(5):
            block(16)
        assert torch.cuda.memory_allocated() == 8 * KIB and torch.cuda.max_memory_allocated() == 24 * KIB
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == 8 * KIB
        del tensor
        assert torch.cuda.memory_allocated() == 0


def test_the_allocator_keeps_what_was_freed() -> None:
    with fake_gpu(memory=64 * KIB):
        block(40)
        assert torch.cuda.memory_allocated() == 0 and torch.cuda.memory_reserved() == 40 * KIB
        assert torch.cuda.mem_get_info() == (24 * KIB, 64 * KIB)
        tensor = block(32)  # from what is kept
        assert torch.cuda.mem_get_info()[0] == 24 * KIB
        torch.cuda.empty_cache()
        assert torch.cuda.mem_get_info()[0] == 32 * KIB and len(tensor)


def test_out_of_memory() -> None:
    with fake_gpu(memory=64 * KIB) as machine:
        tensor = block(40)
        with pytest.raises(torch.cuda.OutOfMemoryError, match="out of memory"):
            block(25)
        assert torch.cuda.memory_allocated() == 40 * KIB
        assert block(24).is_cuda and len(tensor)
    assert machine.memory.refused.total() == 1


def test_a_cycle_of_objects_is_no_shortage() -> None:
    with fake_gpu(memory=64 * KIB):
        ring: list[object] = [block(40)]
        ring.append(ring)
        del ring
        assert block(40).is_cuda
