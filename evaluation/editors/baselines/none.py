"""No edit: the baseline that every method is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.editors.base import Editor
from evaluation.edits.edit import Edit, NoEdit
from schemas.facts import Fact


class UneditedBaseline(Editor):
    """Leaves model and prompts as they are."""

    name: ClassVar[str] = "none"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "the unedited model"

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """The empty edit."""
        return NoEdit()
