"""Values written and read back exactly; what is no value, or of a class that is not loaded, is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch

from evaluation.edits.codebook import Codebook
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.regimes.state_values import NotStorable, decode, encode, tensors_in


class Pair(NamedTuple):
    first: Any
    second: Any = None


@dataclass(frozen=True)
class Held:
    things: tuple[Any, ...]
    by_layer: dict[int, torch.Tensor]


CPU = torch.device("cpu")


def back(value: Any) -> Any:
    tensors: dict[str, torch.Tensor] = {}
    return decode(json.loads(json.dumps(encode(value, tensors))), tensors, CPU)


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, 1e-320, "é\ud800", (), [], {}, (1, [2, (3,)]), {"a": {1: "b"}}, Pair(1, Pair("x"))]
)
def test_plain_values_come_back(value: Any) -> None:
    again = back(value)
    assert again == value and type(again) is type(value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_come_back_bit_for_bit(dtype: torch.dtype) -> None:
    whole = torch.randn(6, 4).to(dtype)
    view = whole[::2, 1:]  # shares its memory with another
    again = back(Held((view, whole, torch.tensor(2)), {3: view}))
    assert torch.equal(again.things[0], view) and again.things[0].dtype == dtype
    assert torch.equal(again.things[1], whole) and torch.equal(again.by_layer[3], view) and again.things[2].ndim == 0


def test_edits_come_back_with_their_classes() -> None:
    book = Codebook("a.weight", torch.ones(2, 3), torch.ones(2, 4), torch.ones(2), ((1, 2), (3,)))
    again = back({"x": (book, LowRankDelta("b.weight", torch.ones(2, 1), torch.ones(3, 1)))})["x"]
    assert isinstance(again[0], Codebook) and again[0].labels == book.labels and torch.equal(again[0].keys, book.keys)
    assert again[1].shape == (2, 3)
    assert len(list(tensors_in([again, "x", {"y": torch.ones(1)}]))) == 6


@pytest.mark.parametrize("value", [len, object(), {1.5: 2}, {True: 1}, [lambda: 1], b"x"])
def test_what_is_no_value_is_not_stored(value: Any) -> None:
    with pytest.raises(NotStorable, match="cannot be stored"):
        encode(value, {})


@pytest.mark.parametrize(
    "value",
    [
        {"class": ["no.such.module", "X"], "fields": {}},
        {"class": ["os", "system"], "fields": {"command": "x"}},
        {"class": ["pathlib", "Path"], "fields": {}},
        {"class": [__name__, "nothing"], "fields": {}},
        {"other": 1},
        [1],
    ],
)
def test_a_file_has_nothing_run(value: Any) -> None:
    with pytest.raises(ValueError, match="is no class of values here|no known kind|without its kind"):
        decode(value, {}, CPU)
