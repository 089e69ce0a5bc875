"""Placebo: another edit of the split in context, to see what any text before the questions does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from evaluation.editors.base import Editor, check_requests
from evaluation.editors.in_context.retrieval import said_before
from evaluation.edits.edit import Edit, PromptEdit
from schemas.cases import EditRequest
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.events.event import Event
from schemas.facts import Fact


class Placebo(Editor):
    """Says another edit before each prompt: of the same type where the split has one, drawn from the keys.

    A control method: nothing tells the model what changed, so what moves beside it is moved by the words alone.
    """

    name: ClassVar[str] = "placebo"
    takes: ClassVar[tuple[str, ...]] = ("fact", "event")
    about: ClassVar[str] = "another edit of the split stands before every prompt (control method, in context)"
    costs: ClassVar[str] = "no search; longer prompts"

    class Params(Options):
        """Options of the placebo.

        Attributes:
            seed: Of the draw.
        """

        seed: int = 0

    params: Params
    _others: tuple[EditRequest, ...] = ()

    @classmethod
    @override
    def wants_split(cls, options: Mapping[str, Any]) -> bool:
        return True

    @override
    def read_split(self, requests: Sequence[EditRequest]) -> None:
        self._others = tuple(requests)

    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        """Other edits, as many as requests.

        Raises:
            UserError: the split has no other edit.
        """
        keys = {request.key for request in check_requests(requests)}
        drawn: list[EditRequest] = []
        for request in requests:
            taken = keys | {other.key for other in drawn}
            free = [r for r in self._others if r.key not in taken and _text(r) != _text(request)]
            near = [r for r in free if _group(r) == _group(request)] or free
            if not near:
                raise UserError(
                    "the split has no other edit to put before the prompts", where=self.name, fix="take a larger split"
                )
            drawn.append(min(near, key=lambda r: (seed(str(self.params.seed), request.key, r.key, "placebo"), r.key)))
        return PromptEdit({"placebo": [r.key for r in drawn]}, prefix="".join(map(said_before, drawn)))


def _text(request: EditRequest) -> str:
    return said_before(request).casefold()


def _group(request: EditRequest) -> str:
    if isinstance(request, Event):
        return request.type
    return request.relation.id if isinstance(request, Fact) else request.source.name
