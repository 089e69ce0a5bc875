"""Shared words counted for every pair, against sets of columns."""

from __future__ import annotations

import random

import numpy as np
import pytest

from curation.similarity import shared_words
from curation.similarity.rouge import TokenRows, encode
from curation.similarity.shared_words import SharedWords
from tests.support.curation.near_texts import WORDS, made


def of_length(rows: TokenRows, length: int, part: slice = slice(None)) -> np.ndarray:
    return np.flatnonzero(rows.size == length)[part]


def counted(rows: TokenRows, left: np.ndarray, right: np.ndarray, least: int) -> dict[tuple[int, int], int]:
    """By sets, pair by pair."""
    columns = [set(rows.matrix[n].indices.tolist()) for n in range(len(rows.size))]
    pairs = ((int(i), int(j)) for i in left for j in right if left is not right or i < j)
    return {(i, j): n for i, j in pairs if (n := len(columns[i] & columns[j])) >= least}


@pytest.fixture(params=[(32, 16), (0, 16), (1, 10**9), (2, 1)], ids=["as it is", "no bits", "64 words", "few bits"])
def share(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many words are bits, from none to nearly all."""
    monkeypatch.setattr(shared_words, "_MOST", request.param[0])
    monkeypatch.setattr(shared_words, "_FEW", request.param[1])


@pytest.mark.usefixtures("share")
@pytest.mark.parametrize("cells", [1, 50, 1 << 18])
@pytest.mark.parametrize("least", [1, 3])
def test_every_pair_has_its_number_of_shared_words(least: int, cells: int) -> None:
    rng = random.Random(least)
    vocabulary = [*WORDS, *(f"rare{n}" for n in range(150))]
    texts = [" ".join(rng.choices(vocabulary, k=k)) for k in (6, 9) for _ in range(40)]
    rows = encode([*texts, *made(20)])
    six, nine = of_length(rows, 6), of_length(rows, 9)
    for left, right in ((six, six), (six, nine), (nine, six), (six[:9], six[9:])):
        blocks = list(SharedWords(rows).pairs(left, right, least, cells=cells))
        pairs = [(int(i), int(j)) for a, b, _ in blocks for i, j in zip(a, b, strict=True)]
        assert len(pairs) == len(set(pairs)), "each pair once"
        values = [int(n) for _, _, shared in blocks for n in shared]
        assert dict(zip(pairs, values, strict=True)) == counted(rows, left, right, least)


def test_long_texts_are_counted_beyond_a_byte() -> None:
    text = " ".join(f"w{n}" for n in range(300))
    rows = encode([text, text, text.replace("w7 ", "x ")])
    (block,) = SharedWords(rows).pairs(both := np.arange(3), both, 256)
    assert [part.tolist() for part in block] == [[0, 0, 1], [1, 2, 2], [300, 299, 299]]


def test_nothing_is_shared() -> None:
    rows = encode(["a b", "c d", "e f"])
    assert not list(SharedWords(rows).pairs(np.arange(2), np.arange(2, 3), 1))
