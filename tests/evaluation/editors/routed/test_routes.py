"""Routes: who passes, ties, nothing to choose from; each prompt is decided once."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.editors.in_context.retrieval import RetrievalEdit
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


def test_a_prompt_is_looked_up_once_and_those_that_will_come_together() -> None:
    batches: list[list[str]] = []
    asked: list[str] = []

    def find(prompt: str) -> str:
        asked.append(prompt)
        return "Event: b\n" if "town" in prompt else ""

    edit = RetrievalEdit({}, find, lambda prompts: batches.append(list(prompts)))
    assert [edit.rewrite("Which town?"), edit.rewrite("Which?")] == ["Event: b\nWhich town?", "Which?"]
    assert edit.rewrite("Which town?") and asked == ["Which town?", "Which?"] and edit.deltas == ()
    edit.expect(["Who?", "Which?", "Who?"])
    assert batches == [["Who?"]]
