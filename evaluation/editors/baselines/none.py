"""No edit: the baseline that every method is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from evaluation.editors.base import Editor
from evaluation.edits.edit import Edit, NoEdit
from schemas.cases import EditRequest


class UneditedBaseline(Editor):
    """Leaves model and prompts as they are."""

    name: ClassVar[str] = "none"
    takes: ClassVar[tuple[str, ...]] = ("fact", "event", "document")
    about: ClassVar[str] = "the unedited model"

    @override
    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        return NoEdit()
