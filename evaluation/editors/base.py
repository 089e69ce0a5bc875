"""What every editing method is: options, preparation, and an edit for given requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evaluation.edits import Edit
from schemas.cases import Case
from schemas.config import Options
from schemas.errors import UserError
from schemas.facts import Fact

if TYPE_CHECKING:
    from evaluation.cache import Cache
    from evaluation.lm import LM


class Editor(ABC):
    """An editing method, set up for one model.

    Attributes:
        name: As in the table ``EDITORS``. ``version``: raised when the same options would give other edits.
        takes: Kinds of request it takes; ``fact`` so far.
        about: One line for lists.

    Args:
        params: Its options.
        lm: The model to edit; left unchanged.
        cache: Where it keeps what is expensive to compute.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    takes: ClassVar[tuple[str, ...]] = ("fact",)
    about: ClassVar[str]

    params: Any  # an instance of the class's own Params

    class Params(Options):
        """Options; a method without any refuses all."""

    def __init__(self, params: Params, lm: LM, cache: Cache) -> None:
        self.params, self.lm, self.cache = params, lm, cache

    @property
    def components(self) -> Mapping[str, str]:
        """What else its edits depend on, by name: digests of files that options only point to. Part of a run's id."""
        return {}

    def prepare(self, support: Sequence[Case]) -> None:  # noqa: B027 - optional, not forgotten
        """Compute what all edits need: statistics, training, demonstrations. Optional; ``edit`` does it when needed.

        Args:
            support: Cases to learn from; never evaluated ones.
        """

    @abstractmethod
    def edit(self, requests: Sequence[Fact]) -> Edit:
        """ONE edit that makes all requests true."""

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits, one a request; methods override it where many at once are faster."""
        return [self.edit([request]) for request in requests]


def new_object(request: Fact) -> str:
    """Text of the object that an edit is to make true.

    Raises:
        UserError: the fact has no new object.
    """
    if request.new is None:
        raise UserError("the fact has no new object: there is nothing to edit", where=request.key)
    return request.new.text


def asked(requests: Sequence[Fact]) -> Sequence[Fact]:
    """The requests, each with a new object.

    Raises:
        UserError: there are none, or one is not to be edited.
    """
    if not requests:
        raise UserError("there is no fact to edit")
    for request in requests:
        new_object(request)
    return requests
