"""The compiled gate is silu(a)·b, for small, large and strange numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import silu

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.gate_kernel import gate_forward

pytestmark = pytest.mark.skipif(not has_compiler(), reason="numba is not installed")


def run(joint: torch.Tensor) -> torch.Tensor:
    loop, out = compiled(gate_forward), np.empty((len(joint), joint.shape[1] // 2), np.float32)
    assert loop is not None
    loop(joint.numpy(), out)
    return torch.from_numpy(out)


@pytest.mark.parametrize("width", [1, 5, 16, 67])
def test_equals_silu_times_the_other(width: int) -> None:
    draw = torch.Generator().manual_seed(width)
    joint = torch.randn(7, 2 * width, generator=draw) * torch.tensor([0.01, 1, 3, 10, 40, 90, 1000])[:, None]
    exact = joint.double()
    want = silu(exact[:, :width]) * exact[:, width:]
    assert torch.allclose(run(joint).double(), want, rtol=3e-6, atol=1e-20)


def test_what_is_no_number_stays_none() -> None:
    out = run(torch.tensor([[float("nan"), float("inf"), 2.0, 1.0, 1.0, float("nan")]]))[0]
    assert out[0].isnan() and out[1] == float("inf") and out[2].isnan()
