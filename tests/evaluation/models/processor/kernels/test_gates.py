"""The compiled gate is silu(a)·b, for small, large and strange numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import silu

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels.gates import PART, gate_forward, gate_of_seven

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


@pytest.mark.parametrize(("rows", "width"), [(6, 5), (7, PART), (7, PART + 3), (5, 2 * PART), (1, 1)])
def test_seven_products_give_the_gate_of_what_they_are_made_of(rows: int, width: int) -> None:
    half = -(-rows // 4) * 2
    draw = np.random.default_rng(width)
    whole = np.zeros((2 * half, 8))
    whole[:rows] = draw.standard_normal((rows, 8))
    right = draw.standard_normal((8, 2 * width))
    (a, b), (c, d) = ((part[:, :4], part[:, 4:]) for part in (whole[:half], whole[half:]))
    (e, f), (g, h) = ((part[:, :width], part[:, width:]) for part in (right[:4], right[4:]))
    sums = [(a + d, e + h), (c + d, e), (a, f - h), (d, g - e), (a + b, h), (c - a, e + f), (b - d, g + h)]
    products = tuple((x @ y).astype(np.float32) for x, y in sums)
    loop, out = compiled(gate_of_seven), np.empty((rows, width), np.float32)
    assert loop is not None
    loop(products, out)
    both = torch.from_numpy(whole[:rows] @ right)
    want = silu(both[:, :width]) * both[:, width:]
    assert torch.allclose(torch.from_numpy(out).double(), want, rtol=1e-5, atol=1e-4)
