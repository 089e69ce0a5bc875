"""What methods share that route: all events of the run stand in a memory, each question goes to one of them or none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from pydantic import Field
from typing_extensions import override

from evaluation.editors.base import check_requests
from evaluation.editors.in_context.retrieval import MemoryEditor, RetrievalEdit, said_before
from evaluation.edits.edit import Edit
from schemas.cases import AnyCase, EditRequest
from schemas.core.config import Options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RoutingEditor(MemoryEditor):
    """A memory of events; a question is preceded by the event that it is sent to, or stays as it is."""

    takes: ClassVar[tuple[str, ...]] = ("event",)
    learns_from: ClassVar[tuple[str, ...]] = ("event",)
    costs: ClassVar[str] = "a decision a prompt; longer prompts where an event passes"

    class Params(Options):
        """Options of routing.

        Attributes:
            memory: ``split``: all events of the split, whichever of them the run takes. ``edit``: the edit's alone.
            threshold: The least probability with which an event passes (ELKEN: one half).
        """

        memory: Literal["split", "edit"] = "split"
        threshold: float = Field(default=0.5, ge=0, le=1)

    _support: tuple[AnyCase, ...] = ()
    _ready: bool = False

    @override
    def prepare(self, support: Sequence[AnyCase]) -> None:
        self._support, self._looked_up_in, self._ready = tuple(support), None, False
        self._learn_once()

    def _learn_once(self) -> None:
        if not self._ready:
            self.learn()
            self._ready = True

    @abstractmethod
    def learn(self) -> None:
        """Learn from the support, or read what was learnt; called once, before the first edit."""

    @abstractmethod
    def router(self, texts: Sequence[str]) -> Router:
        """What sends prompts to one of the memory's events."""

    @override
    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        keys = {r.key for r in check_requests(requests)}
        memory = self.with_split(requests) if self.params.memory == "split" else list(requests)
        self._learn_once()
        router = self.made_for(memory, self.router)

        def find(prompt: str) -> str:
            item = router.route(prompt).item
            return "" if item is None else said_before(memory[item])

        return RetrievalEdit({"memory": len(memory), "edited": len(keys)}, find, router.expect)


class Router(Protocol):
    """Sends prompts to one text of a memory, or to none."""

    def expect(self, prompts: Sequence[str]) -> None:
        """Told prompts that will come, so that what is costly is done for all of them at once. Nothing, unless said."""
        return None

    def route(self, prompt: str) -> Route:
        """Where a prompt goes, and the best score."""
        ...


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
