"""Routes: who passes, ties, nothing to choose from; each prompt is decided once."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.edits.routing import Route, RoutedEdit, best_route


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


def test_a_prompt_is_decided_once_and_what_is_sent_nowhere_stays_as_it_is() -> None:
    requests: list[str] = []

    def decide(prompt: str) -> Route:
        requests.append(prompt)
        return Route(1 if "town" in prompt else None, 0.7)

    edit = RoutedEdit({}, ["Event: a\n", "Event: b\n"], decide)
    assert [edit.rewrite("Which town?"), edit.rewrite("Which?")] == ["Event: b\nWhich town?", "Which?"]
    assert edit.rewrite("Which town?") and edit.route("Which town?") == Route(1, 0.7)
    assert requests == ["Which town?", "Which?"] and edit.deltas == ()


def test_prompts_that_will_come_are_looked_up_together_once_and_not_when_they_are_decided() -> None:
    batches: list[list[str]] = []
    edit = RoutedEdit({}, ["Event: a\n"], lambda prompt: Route(0, 1.0), lambda prompts: batches.append(list(prompts)))
    edit.route("Which?")
    edit.expect(["Which town?", "Which?", "Which town?"])
    edit.expect(["Which?"])
    assert batches == [["Which town?"], []]
