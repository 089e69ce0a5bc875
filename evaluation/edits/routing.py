"""Routed edits: of many items in a memory, each prompt is sent to one or to none, and the decision is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluation.edits.edit import NoEdit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Route(NamedTuple):
    """Where a prompt was sent.

    Attributes:
        item: Number of the item in the memory; None where none passes.
        score: Of the best item, chosen or not.
    """

    item: int | None
    score: float


def best_route(scores: NDArray[np.floating[Any]], *, threshold: float) -> Route:
    """The item with the greatest score, of equals the earlier, where that score reaches the threshold.

    Args:
        scores: One number an item, shape (items,).
        threshold: The least score that passes.

    Example:
        >>> import numpy as np
        >>> best_route(np.array([0.2, 0.7]), threshold=0.5), best_route(np.array([0.2, 0.4]), threshold=0.5).item
        (Route(item=1, score=0.7), None)
    """
    if not len(scores):
        return Route(None, float("-inf"))
    item = int(scores.argmax())
    score = float(scores[item])
    return Route(item if score >= threshold else None, score)


@dataclass(frozen=True)
class RoutedEdit(NoEdit):
    """Before each prompt it puts the text of the item that the prompt is sent to; other prompts stay as they are.

    Attributes:
        texts: What stands before a prompt that is sent to an item, one an item.
        decide: Sends a prompt to an item; asked once a prompt.
        look_up: Told prompts that will be decided on, so that what is costly is done for all of them at once.
    """

    notes: Mapping[str, Any] = field(default_factory=dict)
    texts: Sequence[str] = ()
    decide: Callable[[str], Route] = field(default=lambda prompt: Route(None, float("-inf")))
    look_up: Callable[[Sequence[str]], None] = field(default=lambda prompts: None)
    _routes: dict[str, Route] = field(default_factory=dict, repr=False, compare=False)

    def expect(self, prompts: Sequence[str]) -> None:
        """Told the prompts that will be asked: those that are not decided yet are looked up together."""
        self.look_up([prompt for prompt in dict.fromkeys(prompts) if prompt not in self._routes])

    def route(self, prompt: str) -> Route:
        """Where a prompt is sent."""
        if prompt not in self._routes:
            self._routes[prompt] = self.decide(prompt)
        return self._routes[prompt]

    def rewrite(self, prompt: str) -> str:
        """The item's text, then the prompt; the prompt alone where no item passes."""
        item = self.route(prompt).item
        return prompt if item is None else self.texts[item] + prompt
