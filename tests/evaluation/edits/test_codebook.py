"""The codebook's rules by hand, and against the published algorithm written out over a stream of random keys."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evaluation.edits.codebook import Codebook, with_key, with_value

WEIGHT = "w.weight"


def at(*place: float) -> Tensor:
    return torch.tensor(place, dtype=torch.float32)


def entered(*items: tuple[Tensor, int], eps: float = 1.0, **more: str) -> tuple[Codebook, list[tuple[int, bool]]]:
    book, places = None, []
    for n, (key, label) in enumerate(items):
        book, place = with_key(book, key, (label,), torch.full((3,), float(n)), weight=WEIGHT, eps=eps, **more)  # type: ignore[arg-type]
        places.append(tuple(place))
    assert book is not None
    return book, places


def test_the_same_prompt_with_another_object_takes_the_item_over() -> None:
    """The published halves of no distance would leave both items without a reach: a fact could be edited once only."""
    key = torch.randn(5, generator=torch.Generator().manual_seed(0))
    book, places = entered((key, 0), (key + 1e-6, 1))
    assert places == [(0, True), (0, True)] and book.labels == ((1,),)
    assert book.radii.tolist() == [1.0] and torch.equal(book.values, torch.ones(1, 3))


def test_a_codebook_is_data_that_does_not_change() -> None:
    book, _ = entered((at(0, 0), 0))
    later, _ = with_key(book, at(1.0, 0), (1,), torch.zeros(3), weight=WEIGHT, eps=1.0)
    last = with_value(later, 0, torch.ones(3))
    assert book.radii.tolist() == [1.0] and len(book.keys) == 1 and later.values[0].tolist() == [0, 0, 0]
    assert last.values[0].tolist() == [1, 1, 1] and last.shape == (3, 2)


def plainly(items: list[tuple[Tensor, int]], eps: float) -> tuple[list[Tensor], list[float], list[int]]:
    """Algorithm 1 with lists, one number after the other; keys that are the same apart."""
    keys: list[Tensor] = []
    radii: list[float] = []
    labels: list[int] = []
    for key, label in items:
        gaps = [float((key - other).square().sum().sqrt()) for other in keys]
        near = min(range(len(gaps)), key=gaps.__getitem__, default=None)
        if near is None or gaps[near] > eps + radii[near]:
            keys, radii, labels = [*keys, key], [*radii, eps], [*labels, label]
        elif labels[near] != label:
            radii[near] = gaps[near] / 2 - 1e-5
            keys, radii, labels = [*keys, key], [*radii, gaps[near] / 2], [*labels, label]
        else:
            radii[near] = max(radii[near], gaps[near])
    return keys, radii, labels


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_of_keys_against_the_algorithm_written_out(seed: int) -> None:
    draws = torch.Generator().manual_seed(seed)
    items = [(torch.randn(2, generator=draws) * 2, n % 3) for n in range(60)]
    book, _ = entered(*items, eps=0.6)
    keys, radii, labels = plainly(items, 0.6)
    assert torch.equal(book.keys, torch.stack(keys)) and [label for (label,) in book.labels] == labels
    assert book.radii.tolist() == pytest.approx(radii, abs=1e-5)
    queries = torch.randn(50, 1, 2, generator=draws) * 2
    chosen = book.decide(queries, torch.zeros(50, 1, 3), torch.ones(50, dtype=torch.long)).tolist()
    for query, got in zip(queries[:, 0], chosen, strict=True):
        gaps = [float((query - key).norm()) for key in keys]
        near = min(range(len(gaps)), key=gaps.__getitem__)
        assert got == (near if gaps[near] <= radii[near] else -1)


def test_only_the_last_prompt_token_is_asked_and_changed() -> None:
    book, _ = entered((at(0, 0), 0))
    keys, out = torch.full((2, 4, 2), 9.0), torch.full((2, 4, 3), 7.0)
    keys[0, 1], keys[1, 3] = 0.0, 0.0  # row 0 asks at its second token, row 1 at its third: the match is beyond it
    lengths = torch.tensor([2, 3])
    chosen = book.decide(keys, out, lengths)
    assert chosen.tolist() == [0, -1]
    changed = book.change(keys, out, lengths, chosen)
    assert changed[0, 1].tolist() == [0, 0, 0] and (changed == 7).sum() == 2 * 4 * 3 - 3 and (out == 7).all()
    assert book.change(keys, out, None, chosen) is out, "tokens after the prompt stay"
