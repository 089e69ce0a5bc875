"""Sums in a fixed order: what lets a run on a CUDA device repeat its results bit for bit, where PyTorch can."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Environment variable that cuBLAS reads when a process first uses it; without it, it may add in any order."""


def fix_order() -> None:
    """Have every operation of this process add in a fixed order from now on; one that cannot is named by a warning.

    A CPU does so anyway. The variable that cuBLAS reads is set where it is not: too late where a CUDA device of this
    process has multiplied matrices already.
    """
    os.environ.setdefault(WORKSPACE, ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)


@contextmanager
def fixed_order(wanted: bool) -> Iterator[None]:
    """``fix_order`` inside the block; afterwards PyTorch is as it was.

    Args:
        wanted: False leaves everything as it is.
    """
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    variable = os.environ.get(WORKSPACE)
    fix_order()
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        if variable is None:
            os.environ.pop(WORKSPACE, None)
