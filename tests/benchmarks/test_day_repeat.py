"""The comparison of two equal editors' answers: what differs is said, in the mode in which it does."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch

day_repeat = pytest.importorskip("benchmarks.support.day_repeat", reason="benchmarks are not shipped")

Answers = Callable[[Iterator[float]], list[float] | str]


def exact(editor: Iterator[float]) -> list[float]:
    return [-1.0, -2.5]


def drifting(editor: Iterator[float]) -> list[float]:
    """The last number grows by a billionth of a nat from one answer to the next, unless sums have a fixed order."""
    return [-1.0, -2.5 + (0.0 if torch.are_deterministic_algorithms_enabled() else 1e-9 * next(editor))]


def unordered(editor: Iterator[float]) -> list[float]:
    """PyTorch's own warning, and an answer that is another one each time."""
    if torch.are_deterministic_algorithms_enabled():
        warnings.warn("scatter_cuda does not have a deterministic implementation, but you set ...", stacklevel=1)
    warnings.warn("something else", stacklevel=1)
    return [-1.0 * next(editor)]


def failing(editor: Iterator[float]) -> str:
    return "no memory"


CASES: dict[str, tuple[Answers, tuple[bool, bool], list[str]]] = {
    "exact": (exact, (True, True), []),
    "drifting": (drifting, (False, True), []),
    "unordered": (unordered, (False, False), ["scatter_cuda"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_method_that_answers_differently_is_reported(name: str) -> None:
    answers, equal, told = CASES[name]
    counter = itertools.count(1)
    result = day_repeat.repeated(["m"], lambda _: counter, answers)
    modes = [result[mode]["m"] for mode in ("as_it_is", "fixed_order")]
    assert tuple(mode["equal"] for mode in modes) == equal and result["without_a_fixed_order"] == told
    for mode in modes:
        assert (mode["largest_gap_nats"] == 0) == (mode["differing"] == 0) == mode["equal"]
    assert not torch.are_deterministic_algorithms_enabled() and "error" not in result
    if name == "drifting":
        assert modes[0]["largest_gap_nats"] == pytest.approx(1e-9, rel=1e-3) and modes[0]["of"] == 2


def test_numbers_that_are_none_and_signs_of_zero_count() -> None:
    nan = float("nan")
    assert day_repeat.compared([nan, 0.0], [nan, 0.0])["equal"]
    assert not day_repeat.compared([0.0], [-0.0])["equal"] and day_repeat.compared([0.0], [-0.0])["differing"] == 1


def test_a_method_that_fails_is_named_and_the_others_are_measured() -> None:
    parts: dict[str, Answers] = {"a": failing, "b": exact}
    result = day_repeat.repeated(["a", "b"], lambda name: name, lambda name: parts[name](iter(())))
    assert result["error"] == "a: no memory" and result["fixed_order"]["b"]["equal"] and "a" not in result["as_it_is"]
