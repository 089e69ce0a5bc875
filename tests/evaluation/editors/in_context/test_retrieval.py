"""Methods that live in the prompt, and the memories and demonstrations behind them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.editors.in_context.retrieval import filled, nearest
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country

support = memories.support


def test_nearest_in_order_and_above() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0])
    assert nearest(scores, 3) == [1, 3, 2]
    assert nearest(scores, 4, above=0.0) == [1, 3, 2] and nearest(scores, 4, above=5.0) == []


def test_a_memory_is_filled_from_the_support(support: list[Case]) -> None:
    got = filled([PERU], support, size=4, draw=0, who="bm25")
    assert len(got) == 4 and PERU in got and len({f.key for f in got}) == 4
    assert filled([PERU], support[::-1], size=4, draw=0, who="bm25") == got
    fiji = country("Fiji", "a", "b")
    other = filled([fiji], support, size=4, draw=0, who="bm25")
    assert {f.key for f in got} - {PERU.key} == {f.key for f in other} - {fiji.key}
    assert filled([PERU, fiji], [], size=2, draw=0, who="bm25")
    with pytest.raises(UserError, match="bm25: a memory of 9 facts holds 1 requests"):
        filled([PERU], [], size=9, draw=0, who="bm25")
