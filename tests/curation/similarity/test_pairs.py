"""Pairs of similar texts: the product against the double loop."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.similarity.pairs import encode, similar_pairs
from schemas.core.errors import UserError
from tests.support.curation.near_texts import made, slow_pairs

FOLLOWING = "How can I {} the {} of {} by {} with {} and {} before {} comes"


@pytest.mark.parametrize("threshold", [0.05, 0.4, 0.5, 0.7, 0.8, 1.0])
def test_the_join_equals_the_double_loop(threshold: float) -> None:
    texts = made(130, seed=int(threshold * 100))
    duplicates = {
        (int(i), int(j)): v
        for block in similar_pairs(encode(texts), threshold=threshold, cells=300)
        for i, j, v in zip(*block, strict=True)
    }
    assert duplicates == pytest.approx(slow_pairs(texts, threshold))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab c東é ", max_size=14), max_size=14), st.sampled_from([0.2, 0.4, 2 / 3, 1.0]))
def test_the_join_equals_the_double_loop_on_odd_texts(texts: list[str], threshold: float) -> None:
    blocks = list(similar_pairs(encode(texts), threshold=threshold, cells=7))
    duplicates = [(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)]
    assert len(duplicates) == len(set(duplicates)), "each pair once"
    assert set(duplicates) == set(slow_pairs(texts, threshold))


def test_two_collections_are_joined_across_only() -> None:
    texts = made(90, seed=3)
    blocks = similar_pairs(encode(texts), threshold=0.5, between=40)
    duplicates = {(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)}
    assert duplicates == {(i, j) for i, j in slow_pairs(texts, 0.5) if i < 40 <= j}


@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_two_collections_of_long_texts(threshold: float) -> None:
    """Templates with few rare words; some texts are equal, some are empty."""
    rng = random.Random(7)
    texts = ["", "?!", *(FOLLOWING.format(*rng.choices("abcdefghij", k=7)) for _ in range(45))] + ["x x x y"] * 3
    rng.shuffle(texts)
    for between in (0, 30, len(texts), None):
        blocks = list(similar_pairs(encode(texts), threshold=threshold, between=between, cells=50))
        duplicates = [(int(i), int(j)) for b in blocks for i, j in zip(b.first, b.second, strict=True)]
        assert len(duplicates) == len(set(duplicates)), "each pair once"
        across = {(i, j) for i, j in slow_pairs(texts, threshold) if between is None or i < between <= j}
        assert set(duplicates) == across


def test_equal_texts_and_a_threshold_of_one() -> None:
    duplicates = list(similar_pairs(encode(["a a b", "a b a", "a b", "", ""]), threshold=1.0))
    assert [(b.first.tolist(), b.second.tolist(), b.value.tolist()) for b in duplicates] == [([0], [1], [1.0])]
    assert not list(similar_pairs(encode([]), threshold=0.5))
    assert not list(similar_pairs(encode(["", "?"]), threshold=0.5))


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan")])
def test_what_is_no_threshold(threshold: float) -> None:
    with pytest.raises(UserError, match="out of range"):
        list(similar_pairs(encode(["a"]), threshold=threshold))


def test_columns_do_not_depend_on_the_order_of_texts() -> None:
    texts = made(50)
    one, two = encode(texts), encode(texts[::-1])
    assert (one.matrix != two.matrix[::-1]).nnz == 0
