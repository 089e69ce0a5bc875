"""Routes: who passes, ties, nothing to choose from; each prompt is decided once."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.editors.routed.base import best_route


@pytest.mark.parametrize(
    ("scores", "threshold", "item"),
    [([0.1, 0.9, 0.3], 0.5, 1), ([0.1, 0.5], 0.5, 1), ([0.1, 0.4], 0.5, None), ([0.7, 0.7], 0.5, 0)],
)
def test_the_best_passes_from_the_threshold_on_and_of_equals_the_earlier(
    scores: list[float], threshold: float, item: int | None
) -> None:
    route = best_route(np.array(scores), threshold=threshold)
    assert route.item == item and route.score == max(scores)


def test_an_empty_memory_sends_nothing_anywhere() -> None:
    assert best_route(np.array([]), threshold=0.0).item is None
