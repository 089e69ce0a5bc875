"""Loops of small steps do in Python and as machine code what PyTorch's formulas give in float64, forth and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from evaluation.models.processor.compilation import compiled, has_compiler
from evaluation.models.processor.kernels import steps as kernels

BARRED = torch.finfo(torch.float32).min

Way = Callable[[Callable[..., None]], Any]
WAYS = [lambda function: function, compiled]


@pytest.fixture(params=["python", "compiled"])
def way(request: Any) -> Way:
    if request.param == "compiled" and not has_compiler():
        pytest.skip("numba is not installed")
    return WAYS[request.param == "compiled"]


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def same(got: np.ndarray, want: Tensor) -> None:
    np.testing.assert_allclose(got, want.detach().numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (3, 7), (5, 64)])
@pytest.mark.parametrize("size", [1.0, 1e-4, 1e4])
def test_a_norm(rows: int, width: int, size: float, way: Way) -> None:
    states, weight, slopes, more = (
        size * drawn(rows, width),
        drawn(width),
        drawn(rows, width, seed=1),
        drawn(rows, width),
    )
    x = states.double().requires_grad_()
    scale = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    want = x * scale * weight
    (slope,) = torch.autograd.grad(want, x, slopes.double())
    out, scales = np.empty((rows, width), np.float32), np.empty(rows, np.float32)
    way(kernels.norm_forward)(states.numpy(), weight.numpy(), 1e-5, out, scales)
    same(out, want)
    np.testing.assert_allclose(scales, scale[:, 0].detach().numpy(), rtol=1e-5)
    got = slopes.numpy().copy()
    way(kernels.norm_backward)(got, states.numpy(), scales, weight.numpy(), more.numpy())
    largest = float(slope.abs().max()) + float(more.abs().max())
    np.testing.assert_allclose(got, (slope + more).numpy(), rtol=1e-4, atol=1e-5 * largest)


def by_formula(joint: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, scale: float, heads: int) -> Tensor:
    few = (joint.shape[2] - heads) // 2
    query, key, value = joint.transpose(1, 2).split([heads, few, few], 1)
    query, key = (
        x * cos[:, None] + torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1) * sin[:, None]
        for x in (query, key)
    )
    key, value = (x.repeat_interleave(heads // few, 1) for x in (key, value))
    scores = (query @ key.transpose(2, 3)) * scale + mask[:, None]
    return (scores.softmax(-1) @ value).transpose(1, 2)


@pytest.mark.parametrize("own", [False, True], ids=["one mask", "a mask a row"])
@pytest.mark.parametrize(
    ("rows", "places", "heads", "few", "size"), [(1, 1, 2, 1, 4), (2, 5, 6, 2, 8), (3, 7, 3, 3, 2)]
)
def test_attention(rows: int, places: int, heads: int, few: int, size: int, own: bool, way: Way) -> None:
    joint, slopes = drawn(rows, places, heads + 2 * few, size), drawn(rows, places, heads, size, seed=2)
    many = rows if own else 1
    turns = drawn(many, places, size, seed=3)
    cos, sin = turns.cos(), turns.sin()
    mask = torch.zeros(many, places, places).masked_fill_(torch.ones(places, places).triu(1).bool(), BARRED)
    if places > 2:
        mask[-1, 2, 0] = BARRED  # not only what comes later
        mask[0, 2, 1] = -1.5  # a number, as some models add it
    x = joint.double().requires_grad_()
    want = by_formula(x, cos.double(), sin.double(), mask.double(), 0.3, heads)
    (slope,) = torch.autograd.grad(want, x, slopes.double())
    turned, shares = joint.numpy().copy(), np.empty((rows, heads, places, places), np.float32)
    out, got = np.empty((rows, places, heads, size), np.float32), np.full(joint.shape, 7, np.float32)
    way(kernels.turn)(turned, cos.numpy(), sin.numpy(), heads + few)
    way(kernels.share_keys)(turned, mask.numpy(), 0.3, heads, shares)
    way(kernels.mix_values)(turned, heads, shares, out)
    same(out, want)
    way(kernels.attention_backward)(turned, 0.3, heads, shares, slopes.numpy(), got)
    way(kernels.turn_back)(got, cos.numpy(), sin.numpy(), heads + few)
    same(got, slope)


def attended(joint: Tensor, mask: Tensor, way: Way) -> tuple[np.ndarray, np.ndarray]:
    """What attention of two heads gives, and a slope of it, with nothing turned."""
    rows, places, _, size = joint.shape
    shares, out = np.empty((rows, 2, places, places), np.float32), np.empty((rows, places, 2, size), np.float32)
    kept = joint.numpy().copy()
    slope = np.empty_like(kept)
    with np.errstate(invalid="ignore"):  # Python says it, machine code does not
        way(kernels.share_keys)(kept, mask.numpy(), 1.0, 2, shares)
        way(kernels.mix_values)(kept, 2, shares, out)
        way(kernels.attention_backward)(kept, 1.0, 2, shares, np.ones_like(out), slope)
    return out, slope


def test_a_query_without_keys_gives_zeros_and_has_no_slope(way: Way) -> None:
    mask = torch.zeros(1, 3, 3)
    mask[0, 1] = BARRED
    mask[0, :, 1] = BARRED
    out, slope = attended(drawn(1, 3, 4, 4), mask, way)
    assert not out[0, 1].any() and out[0, 0].any() and not slope[0, 1].any() and slope[0, 0].any()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_stays_none(wrong: float, way: Way) -> None:
    joint = drawn(1, 3, 4, 4)
    joint[0, 1, 0, 0] = wrong  # a query of the first head
    causal = torch.zeros(1, 3, 3).masked_fill_(torch.ones(3, 3).triu(1).bool(), BARRED)
    out, slope = attended(joint, causal, way)
    assert np.isnan(out[0, 1, 0]).all() and np.isfinite(out[0, [0, 2]]).all() and np.isfinite(out[0, 1, 1]).all()
    assert np.isnan(slope).any()
