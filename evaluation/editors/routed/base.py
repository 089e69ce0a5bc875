"""What methods share that route: all events of the run stand in a memory, each question goes to one of them or none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from evaluation.editors.base import Editor, check_requests
from evaluation.editors.in_context.retrieval import said_before, statement
from evaluation.edits.edit import Edit
from evaluation.edits.routing import Route, RoutedEdit
from schemas.cases import AnyCase, EditRequest
from schemas.core.config import Options


class RoutingEditor(Editor):
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

    params: Any
    _edits: tuple[EditRequest, ...] = ()
    _support: tuple[AnyCase, ...] = ()
    _ready: bool = False
    _router: tuple[tuple[str, ...], Router] | None = None

    @classmethod
    def wants_split(cls, options: Mapping[str, Any]) -> bool:
        """Where the memory holds all events of the split."""
        return bool(options.get("memory", cls.Params.model_fields["memory"].default) == "split")

    def read_split(self, requests: Sequence[EditRequest]) -> None:
        """Keep the events that fill the memory."""
        self._edits = tuple(requests)

    def prepare(self, support: Sequence[AnyCase]) -> None:
        """Keep the support, and learn from it or read what was learnt."""
        self._support, self._router, self._ready = tuple(support), None, False
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

    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        """An edit that routes every prompt."""
        keys = {r.key for r in check_requests(requests)}
        memory = list(requests)
        if self.params.memory == "split":  # the split's own order, whatever is edited: ties fall the same way
            known = {r.key for r in self._edits}
            memory = [*self._edits, *(r for r in requests if r.key not in known)]
        router = self._router_of(tuple(map(statement, memory)))
        notes = {"memory": len(memory), "edited": len(keys)}
        return RoutedEdit(notes, [said_before(r) for r in memory], router.route, router.expect)

    def _router_of(self, texts: tuple[str, ...]) -> Router:
        """The router of a memory; that of the split is made once."""
        if self._router is None or self._router[0] != texts:
            self._learn_once()
            self._router = (texts, self.router(texts))
        return self._router[1]


class Router(Protocol):
    """Sends prompts to one text of a memory, or to none."""

    def expect(self, prompts: Sequence[str]) -> None:
        """Told prompts that will come, so that what is costly is done for all of them at once. Nothing, unless said."""
        return None

    def route(self, prompt: str) -> Route:
        """Where a prompt goes, and the best score."""
        ...
