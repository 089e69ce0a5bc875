"""A control method that asks no model: the answer is always "unknown"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from evaluation.editors.base import Editor
from evaluation.edits.edit import ConstantAnswer, Edit
from schemas.cases import EditRequest
from schemas.events.questions import UNKNOWN


class SayUnknown(Editor):
    """Answers every question with "unknown", and holds no target likelier than another.

    More than a third of what published events change becomes unknown: a metric that this row does well on rewards the
    word, not the edit.
    """

    name: ClassVar[str] = "say_unknown"
    takes: ClassVar[tuple[str, ...]] = ("fact", "event")
    about: ClassVar[str] = 'the answer to everything is "unknown" (control method)'

    @override
    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        return ConstantAnswer(text=UNKNOWN)
