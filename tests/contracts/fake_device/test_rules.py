"""The fake device refuses what CUDA refuses, at the line that does it, and allows what CUDA allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.fake_device import Refused, fake_gpu


def on_card(*shape: int, card: int = 0) -> Tensor:
    return torch.ones(shape, device=f"cuda:{card}")


FORBIDDEN: dict[str, Callable[[], Any]] = {
    "add": lambda: on_card(3) + torch.ones(3),
    "matmul": lambda: on_card(3, 3) @ torch.ones(3, 3),
    "cat": lambda: torch.cat([on_card(3), torch.ones(3)]),
    "stack": lambda: torch.stack([on_card(3), torch.ones(3)]),
    "a CPU tensor by indices on the card": lambda: torch.ones(3)[torch.tensor([1], device="cuda")],
    "indices on another card": lambda: on_card(3)[torch.tensor([1], device="cuda:1")],
    "values of index_put": lambda: on_card(3, 3).index_put_((torch.tensor([1]),), torch.ones(1, 3)),
    "gather": lambda: on_card(3, 3).gather(1, torch.zeros(3, 1, dtype=torch.long)),
    "scatter": lambda: on_card(3, 3).scatter_(1, torch.zeros(3, 1, dtype=torch.long, device="cuda"), torch.ones(3, 3)),
    "numpy": lambda: on_card(3).numpy(),
    "an array of it": lambda: __import__("numpy").asarray(on_card(3)),
    "multinomial with a CPU generator": lambda: torch.multinomial(on_card(3), 1, generator=torch.Generator()),
    "drawing into it with a CPU generator": lambda: on_card(3).normal_(generator=torch.Generator()),
    "two cards": lambda: on_card(3) + on_card(3, card=1),
    "a number on the card beside a CPU tensor": lambda: torch.ones(3) + on_card(),
    "index_add": lambda: on_card(3).index_add_(0, torch.tensor([0]), on_card(1)),
    "linear": lambda: nn.Linear(3, 3).to("cuda")(torch.ones(2, 3)),
    "a map left on another card": lambda: nn.Linear(3, 3).to("cuda:1")(on_card(2, 3)),
    "embedding": lambda: nn.Embedding(3, 3).to("cuda")(torch.tensor([1])),
    "equal": lambda: torch.equal(on_card(2), torch.ones(2)),
    "where": lambda: torch.where(on_card(2) > 0, torch.ones(2), on_card(2)),
    "a mask of the CPU": lambda: on_card(2).masked_fill(torch.tensor([True, False]), 0.0),
}


def backward() -> Any:
    linear, x = nn.Linear(3, 3).to("cuda"), on_card(2, 3)
    linear(x).sum().backward()
    return linear.weight.device, linear.weight.grad.device  # type: ignore[union-attr]


def across() -> Any:
    local_tensor, remote = torch.ones(3, requires_grad=True), torch.ones(3, device="cuda:1", requires_grad=True)
    (local_tensor.to("cuda:0") * remote.to("cuda:0")).sum().backward()
    return local_tensor.grad.device, remote.grad.device  # type: ignore[union-attr]


def optimiser(**settings: Any) -> Any:
    weight = torch.zeros(3, device="cuda", requires_grad=True)
    adam = torch.optim.Adam([weight], lr=0.1, **settings)
    weight.sum().backward()
    adam.step()
    return weight.device, adam.state[weight]["exp_avg"].device, weight.tolist()


def two_cards_in_one_optimiser() -> Any:
    weights = [torch.zeros(3, device=f"cuda:{n}", requires_grad=True) for n in (0, 1)]
    adam = torch.optim.Adam(weights, lr=0.1)
    for weight in weights:
        weight.sum().backward()
    adam.step()
    return [w.device for w in weights]


def made_there() -> Any:
    with torch.device("cuda"):
        return nn.Linear(3, 3).weight.device


def copied() -> Any:
    import copy

    return copy.deepcopy(on_card(2)).device, copy.deepcopy(nn.Linear(2, 2).to("cuda")).weight.device


def masked() -> Any:
    x = on_card(3)
    x[x > 0] = 0.0
    return x.device, x.tolist()


CARD = torch.device("cuda", 0)
OTHER = torch.device("cuda", 1)
HOST = torch.device("cpu")
ALLOWED: dict[str, tuple[Callable[[], Any], Any]] = {
    "backward": (backward, (CARD, CARD)),
    "slopes go back to where they came from": (across, (HOST, OTHER)),
    "indices of the CPU": (lambda: on_card(3, 3)[torch.tensor([1])].device, CARD),
    "lists as indices": (lambda: on_card(3, 3)[[0, 1], [1, 2]].device, CARD),
    "a number of the CPU": (lambda: (on_card(3) * torch.tensor(2.0)).tolist(), [2.0, 2.0, 2.0]),
    "bool": (lambda: bool(on_card(3).any()), True),
    "mask": (lambda: on_card(3)[on_card(3) > 0].device, CARD),
    "writing by a mask": (masked, (CARD, [0.0, 0.0, 0.0])),
    "beside another": (lambda: (on_card(2).new_zeros(3).device, on_card(2).new_tensor([1.0]).device), (CARD, CARD)),
    "like another": (lambda: torch.zeros_like(on_card(2, card=1)).device, OTHER),
    "double": (lambda: torch.eye(2, dtype=torch.float64, device="cuda").device, CARD),
    "device context": (made_there, CARD),
    "adam": (optimiser, (CARD, CARD, [pytest.approx(-0.1)] * 3)),
    "fused adam": (lambda: optimiser(fused=True), (CARD, CARD, [pytest.approx(-0.1)] * 3)),
    "two cards in one optimiser": (two_cards_in_one_optimiser, [CARD, OTHER]),
    "deep copies": (copied, (CARD, CARD)),
    "copy_ across": (lambda: on_card(2).copy_(torch.zeros(2)).tolist(), [0.0, 0.0]),
    "type and device at once": (
        lambda: (y := torch.ones(2).to("cuda", torch.bfloat16), (y.device, y.dtype))[1],
        (CARD, torch.bfloat16),
    ),
    "like a tensor": (lambda: torch.ones(2).to(on_card(1, card=1)).device, OTHER),
    "packed for the CPU": (lambda: torch.ones(2, 2).to_mkldnn().to_dense().device, HOST),
    "numpy after a copy": (lambda: on_card(2).cpu().numpy().tolist(), [1.0, 1.0]),
    "drawn on the CPU, then moved": (lambda: torch.rand(3, generator=torch.Generator()).to("cuda").device, CARD),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_refused(name: str) -> None:
    with fake_gpu(devices=2) as machine, pytest.raises(Refused, match=r"test_rules\.py:\d+"):
        FORBIDDEN[name]()
    assert machine.counts.refused.total() == 1


@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(name: str) -> None:
    run, want = ALLOWED[name]
    with fake_gpu(devices=2) as machine:
        result = run()
    assert result == want and not machine.counts.refused


TWO_CARDS = {
    "indices on another card",
    "two cards",
    "a map left on another card",
    "slopes go back to where they came from",
    "like another",
    "two cards in one optimiser",
    "like a tensor",
}


def skip_without_the_cards_for(name: str) -> None:
    if name in TWO_CARDS and torch.cuda.device_count() < 2:
        pytest.skip("one card")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_real_card_refuses_it_too(name: str) -> None:
    skip_without_the_cards_for(name)
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        FORBIDDEN[name]()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", ALLOWED)
def test_a_real_card_allows_it_too(name: str) -> None:
    skip_without_the_cards_for(name)
    run, want = ALLOWED[name]
    assert run() == want


def test_the_place_is_the_line_that_does_it() -> None:
    with fake_gpu(), pytest.raises(Refused) as error:
        on_card(2)
        on_card(2) + torch.ones(2)  # this line
    line = str(error.value).rpartition("test_rules.py:")[2].split()[0]
    source = open(__file__, encoding="utf-8").read().split("\n")  # noqa: SIM115
    assert source[int(line) - 1].endswith("# this line")


def test_nothing_of_it_stays() -> None:
    before = torch.cuda.is_available
    with fake_gpu():
        x = on_card(2)
        assert x.is_cuda and x.get_device() == 0 and torch.cuda.is_available()
    assert torch.cuda.is_available is before and not x.is_cuda and (x + torch.ones(2)).tolist() == [2.0, 2.0]


# Memory of the fake device: what is alive, the peak, the caching allocator's way of keeping it, shortage.
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


def test_out_of_memory() -> None:
    with fake_gpu(memory=64 * KIB) as machine:
        tensor = block(40)
        with pytest.raises(torch.cuda.OutOfMemoryError, match="out of memory"):
            block(25)
        assert torch.cuda.memory_allocated() == 40 * KIB
        assert block(24).is_cuda and len(tensor)
    assert machine.memory.refused.total() == 1
