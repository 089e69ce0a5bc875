"""A gated product by seven products equals one product's in all but the last digits, and stands aside where it must."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, silu

from evaluation.models.processor.compilation import has_compiler
from evaluation.models.processor.fused_steps import gated
from evaluation.models.processor.seven_products import ROWS, gated_product
from evaluation.models.processor.tiled_weights import has_tiles
from evaluation.models.processor.tiles import JointMap, MapByTiles, Tiles

pytestmark = [
    pytest.mark.skipif(not (has_tiles() and has_compiler()), reason="no tiles, or no numba, on this machine"),
    pytest.mark.usefixtures("one_thread"),
]

WIDTH, INNER = 96, 200


@pytest.fixture(autouse=True)
def no_slopes() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture
def by_seven(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of every product that was made of seven."""
    own, tokens = Tiles.seven, list[int]()
    monkeypatch.setattr(Tiles, "seven", lambda tiles, left, *w: tokens.append(left.shape[1]) or own(tiles, left, *w))
    return tokens


def maps(*, bias: bool = False, inner: tuple[int, int] = (INNER, INNER), width: int = WIDTH) -> list[Any]:
    draw = torch.Generator().manual_seed(7)
    out: list[Any] = [nn.Linear(width, size, bias=bias).requires_grad_(False) for size in inner]
    for one in out:
        for p in one.parameters():
            p.copy_(torch.randn(p.shape, generator=draw) * width**-0.5)
    return out


def joint(modules: list[Any], *, kept: bool = True, spare: bool = True) -> JointMap:
    return JointMap([MapByTiles(m, kept=kept, spare=spare) for m in modules])


def states_of(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def exact(modules: list[Any], states: Tensor) -> Tensor:
    gate, up = (linear(states.double(), m.weight.double()) for m in modules)
    return silu(gate) * up


def far(got: Tensor, want: Tensor) -> float:
    return float((got - want).square().mean().sqrt())


@pytest.mark.parametrize("tokens", [ROWS, ROWS + 1, ROWS + 2, ROWS + 3, 2 * ROWS + 5])
def test_its_errors_are_those_of_one_product_but_for_a_small_factor(tokens: int, by_seven: list[int]) -> None:
    modules, states = maps(), states_of(tokens, WIDTH)
    want, one = exact(modules, states), gated(joint(modules).product(states))
    got = gated_product(joint(modules), states)
    assert by_seven == [-(-tokens // 4) * 2] and got.shape == one.shape
    assert far(got, want) < 3 * far(one, want) < 1e-5
    assert torch.allclose(got.double(), want, atol=2e-5)


def test_rows_and_places_and_states_that_lie_across(by_seven: list[int]) -> None:
    modules = maps()
    for states in (states_of(3, ROWS, WIDTH), states_of(ROWS, 3, WIDTH).transpose(0, 1)):
        got = gated_product(joint(modules), states)
        assert got.shape == (3, ROWS, INNER) and torch.allclose(got.double(), exact(modules, states), atol=2e-5)
    assert len(by_seven) == 2


def test_tokens_of_one_size_keep_their_size_beside_small_ones() -> None:
    """What a partner brings is its rounding error: a millionth of its own size."""
    modules, states = maps(), states_of(2 * ROWS, WIDTH)
    states[ROWS:] *= 1e-2
    got, want = gated_product(joint(modules), states), exact(modules, states)
    assert float((got[ROWS:] - want[ROWS:]).abs().max()) < 1e-6


@pytest.mark.parametrize("strange", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_with_its_own_token(strange: float, by_seven: list[int]) -> None:
    modules, states = maps(), states_of(ROWS, WIDTH)
    clean = gated(joint(modules).product(states))
    states[5, 3] = strange
    got = gated_product(joint(modules), states)
    assert not by_seven and not got[5].isfinite().all()
    assert torch.equal(got[6:], clean[6:]) and torch.equal(got[:5], clean[:5])


@pytest.mark.parametrize("case", ["few tokens", "threads", "bias", "no room", "not kept", "uneven width", "two sizes"])
def test_where_seven_are_of_no_use_there_is_one(case: str, by_seven: list[int]) -> None:
    modules = {
        "bias": lambda: maps(bias=True),
        "uneven width": lambda: maps(width=WIDTH + 1),
        "two sizes": lambda: maps(inner=(INNER, 2)),
    }.get(case, maps)()
    states = states_of(ROWS - 1 if case == "few tokens" else ROWS, modules[0].in_features)
    both = joint(modules, kept=case != "not kept", spare=case != "no room")
    if case == "threads":
        torch.set_num_threads(2)
    if case == "two sizes":  # no gate has them
        assert not both.has_seven
        return
    want = silu(modules[0](states)) * modules[1](states)
    assert torch.allclose(gated_product(both, states), want, atol=2e-5) and not by_seven


@pytest.mark.parametrize("which", [0, 1])
def test_changed_weights_are_noticed(which: int, by_seven: list[int]) -> None:
    modules, states = maps(), states_of(ROWS, WIDTH)
    first = gated_product(joint(modules), states)
    modules[which].weight.mul_(1.5)
    second = gated_product(joint(modules), states)
    modules[which].weight.data.mul_(1.5)  # behind autograd's back, noticed by the next who joins them
    third = gated_product(joint(modules), states)
    assert len(by_seven) == 3 and not torch.allclose(first, second, atol=1e-2)
    assert torch.allclose(third.double(), exact(modules, states), atol=5e-5) and not torch.allclose(
        second, third, atol=1e-2
    )


def test_no_slope_is_wanted_and_none_is_kept() -> None:
    states = states_of(ROWS, WIDTH).requires_grad_()
    with torch.no_grad():
        assert not gated_product(joint(maps()), states).requires_grad
