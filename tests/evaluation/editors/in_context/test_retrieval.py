"""Methods that live in the prompt, and the memories and demonstrations behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from evaluation.editors.in_context.retrieval import Bm25, Tfidf, fill_memory, nearest
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country

lm = memories.lm
support = memories.support


def test_nearest_in_order_and_above() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0])
    assert nearest(scores, 3) == [1, 3, 2]
    assert nearest(scores, 4, above=0.0) == [1, 3, 2] and nearest(scores, 4, above=5.0) == []


@pytest.mark.parametrize("texts", [["It is."], ["???", "..."]])
def test_a_memory_without_a_word_to_look_for_is_near_to_nothing(texts: list[str]) -> None:
    for index in (Bm25(texts), Tfidf(texts, stop_words="english")):
        assert index.scores("how is it?").tolist() == [0.0] * len(texts)


def test_a_memory_is_filled_from_the_support(support: list[Case]) -> None:
    got = fill_memory([PERU], support, size=4, draw=0, who="bm25")
    assert len(got) == 4 and PERU in got and len({f.key for f in got}) == 4
    assert fill_memory([PERU], support[::-1], size=4, draw=0, who="bm25") == got
    fiji = country("Fiji", "a", "b")
    other = fill_memory([fiji], support, size=4, draw=0, who="bm25")
    assert {f.key for f in got} - {PERU.key} == {f.key for f in other} - {fiji.key}
    assert fill_memory([PERU, fiji], [], size=2, draw=0, who="bm25")
    with pytest.raises(UserError, match="bm25: a memory of 9 facts holds 1 requests"):
        fill_memory([PERU], [], size=9, draw=0, who="bm25")


class CountingEncoder:
    """Stands for a sentence encoder: vectors of letters, and how many texts each call brought."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        counts = np.array([[text.lower().count(letter) for letter in "aeinorst"] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
