"""A head that is read once gives the log-probabilities and slopes of its product and a log-softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from evaluation.models.hooks import replace_output
from evaluation.models.processor import head_reading as reading
from evaluation.models.processor.compilation import has_compiler
from evaluation.models.processor.head_reading import FEW, read_head, reads_once, token_logprobs
from evaluation.models.processor.tiled_weights import can_tile, tiled_products
from tests.support.tiny import make

needs_kernel = pytest.mark.skipif(not has_compiler(), reason="numba is not installed")

AT, TOKENS = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([4, 0, 4, 9, 36])


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def head_of(vocabulary: int = 37, width: int = 19, *, size: float = 1.0, order: str = "") -> nn.Linear:
    draw = torch.Generator().manual_seed(4)
    head = nn.Linear(width, vocabulary, bias=False).requires_grad_(False)
    head.weight.copy_(size * torch.randn(vocabulary, width, generator=draw))
    if order:  # by the first entry, so that logits of the first unit vector rise or fall from row to row
        head.weight.copy_(head.weight[head.weight[:, 0].argsort(descending=order == "falling")])
    return head


def states_of(count: int = 2, width: int = 19, *, size: float = 1.0) -> Tensor:
    return size * torch.randn(count, width, generator=torch.Generator().manual_seed(8))


def slowly(head: Any, states: Tensor, at: Tensor = AT, tokens: Tensor = TOKENS) -> tuple[Tensor, Tensor]:
    """In float64, with the slope of a sum of differently weighted log-probabilities."""
    x = states.detach().double().requires_grad_()
    with torch.enable_grad():
        out = (x @ head.weight.double().T).log_softmax(-1)[at, tokens]
        (slope,) = torch.autograd.grad((out * torch.arange(1, len(out) + 1)).sum(), x)
    return out.detach(), slope


def once(head: Any, states: Tensor, at: Tensor = AT, tokens: Tensor = TOKENS) -> tuple[Tensor, Tensor]:
    x = states.clone().requires_grad_()
    with torch.enable_grad():
        out = token_logprobs(head, x, at, tokens)
        (slope,) = torch.autograd.grad((out * torch.arange(1, len(out) + 1)).sum(), x)
    return out.detach(), slope


def assert_same(head: Any, states: Tensor, at: Tensor = AT, tokens: Tensor = TOKENS) -> None:
    for got, want in zip(once(head, states, at, tokens), slowly(head, states, at, tokens), strict=True):
        assert got.dtype == torch.float32
        assert torch.allclose(got.double(), want, rtol=1e-5, atol=1e-5 * max(1.0, float(want.abs().max())))


@needs_kernel
@pytest.mark.parametrize("vocabulary", [37, 256, 257, 1000])
@pytest.mark.parametrize("order", ["", "rising", "falling"])
def test_values_and_slopes(vocabulary: int, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head, states = head_of(vocabulary, order=order), states_of()
    if order:
        states = torch.zeros(2, 19)
        states[:, 0] = torch.tensor([3.0, -3.0])
    assert reads_once(head, states)
    assert_same(head, states)
    assert_same(head, states[:1], AT * 0)
    monkeypatch.setattr(reading, "has_compiler", lambda: False)
    assert not reads_once(head, states)
    assert_same(head, states)


@needs_kernel
def test_large_logits_neither_overflow_nor_vanish() -> None:
    """Their differences are hundreds of nats: one token has all the probability, the others none that float32 shows."""
    assert_same(head_of(300, size=20.0), states_of(size=20.0))
    assert_same(head_of(300, size=1e-6), states_of(size=1e-6))


@needs_kernel
@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_threads_share_the_rows(count: int, threads: None) -> None:
    torch.set_num_threads(count)
    assert_same(head_of(), states_of())
    assert_same(head_of(2), states_of(), AT, TOKENS % 2)


@needs_kernel
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_none(wrong: float) -> None:
    states = states_of()
    states[1, 3] = wrong
    got, slope = once(head_of(), states)
    want, want_slope = slowly(head_of(), states)
    assert torch.equal(got.isnan(), want.isnan()) and got.isnan().any() and not got.isnan().all()
    assert torch.equal(slope[0].isnan(), want_slope[0].isnan()) and slope[1].isnan().any()


def test_other_heads_and_more_states_are_left_to_the_product() -> None:
    head, states = head_of(), states_of()
    trained, biased, turned = head_of().requires_grad_(), nn.Linear(19, 37).requires_grad_(False), head_of()
    turned.weight = nn.Parameter(torch.randn(19, 37).t(), requires_grad=False)
    replaced: Any = head_of()
    replaced.forward = lambda x: 2 * x
    for other, given in [
        (head, states_of(FEW + 1)),
        (head, states.double()),
        (trained, states),
        (biased, states),
        (turned, states),
        (replaced, states),
        (nn.Identity(), states),
    ]:
        assert not reads_once(other, given)
    assert_same(head, states_of(FEW + 1), AT, TOKENS)
    biased.bias.fill_(0.5)
    biased.bias[3] = 2.0
    want = biased(states).log_softmax(-1)[AT, TOKENS]
    assert torch.allclose(token_logprobs(biased, states, AT, TOKENS), want)


@needs_kernel
def test_what_hangs_on_the_head_is_called() -> None:
    head, states = head_of(), states_of()
    with replace_output(head, lambda _, out: 2 * out):
        assert not reads_once(head, states)
        want = (2 * states @ head.weight.T).log_softmax(-1)[AT, TOKENS]
        assert torch.allclose(token_logprobs(head, states, AT, TOKENS), want, atol=1e-5)
    assert reads_once(head, states)


@needs_kernel
def test_a_head_by_tiles_is_read_once_and_gets_no_copies() -> None:
    lm = make("llama")
    head: Any = lm.module(lm.layout.head)
    with tiled_products(lm):
        states = states_of(2, lm.layout.width)
        assert ("forward" in head.__dict__) == can_tile(lm) and reads_once(head, states)
        assert_same(head, states)


@needs_kernel
def test_no_slope_is_kept_where_none_is_wanted() -> None:
    with torch.no_grad():
        total, slope = read_head(states_of(), head_of().weight)
        out = token_logprobs(head_of(), states_of().requires_grad_(), AT, TOKENS)
    assert not out.requires_grad and not total.requires_grad and slope.shape == (2, 19)
