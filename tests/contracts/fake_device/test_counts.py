"""What the fake device counts: waits, copies, launches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.fake_device import fake_gpu

WAITS: dict[str, tuple[Callable[[Tensor], Any], int]] = {
    "item": (lambda x: x.sum().item(), 1),
    "float": (lambda x: float(x.sum()), 1),
    "bool": (lambda x: bool(x.any()), 1),
    "tolist": (lambda x: x.tolist(), 1),
    "a copy back": (lambda x: x.cpu(), 1),
    "a mask as index": (lambda x: x[x > 0], 1),
    "nonzero": (lambda x: x.nonzero(), 1),
    "equal": (lambda x: torch.equal(x, x), 1),
    "a loop over rows": (lambda x: [float(v) for v in x], 4),
    "one copy of all rows": (lambda x: list(x.tolist()), 1),
    "arithmetic": (lambda x: (x * 2 + 1).sum(), 0),
    "moving what is there": (lambda x: x.to("cuda"), 0),
    "cholesky_ex": (lambda x: torch.linalg.cholesky_ex(torch.diag(x)), 0),
    "synchronize": (lambda x: torch.cuda.synchronize(), 1),
}


@pytest.mark.parametrize("name", WAITS)
def test_waits(name: str) -> None:
    run, want = WAITS[name]
    with fake_gpu() as machine:
        x = torch.ones(4, device="cuda")
        machine.counts.clear()
        run(x)
    assert machine.counts.waits == want


UNTOLD = ("synchronize", "equal")
"""Waits of which PyTorch's own watch does not tell."""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", [name for name in WAITS if name not in UNTOLD])
def test_a_real_card_waits_where_the_fake_one_does(name: str) -> None:
    run, want = WAITS[name]
    x = torch.ones(4, device="cuda")
    run(x)  # what is made once
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            run(x)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert sum("called a synchronizing" in str(one.message) for one in told) == want


def test_copies_to_the_device_and_launches() -> None:
    with fake_gpu() as machine:
        x = torch.zeros(4, device="cuda")
        machine.counts.clear()
        x[[1, 2]] = 1.0
        torch.tensor([1.0, 2.0], device="cuda")
        torch.ones(3).to("cuda")
        assert machine.counts.to_device.total() == machine.counts.stalls.total() == 3
        torch.ones(3).pin_memory().to("cuda", non_blocking=True)
        assert machine.counts.to_device.total() == 4 and machine.counts.stalls.total() == 3
        machine.counts.clear()
        (x * 2).view(2, 2).T.sum()
        assert machine.counts.launches.total() == 2 and machine.counts.waits == 0
    assert all("test_counts.py" in at for at in machine.counts.launches)
