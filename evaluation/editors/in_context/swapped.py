"""Swapped: another document of the split in context, to see what any document before the questions does."""

from __future__ import annotations

from typing import ClassVar

from evaluation.editors.in_context.placebo import Placebo


class Swapped(Placebo):
    """Edits another case's document in, in context: of the same collection where the split has one.

    A control method. What its row gains on a document's probes comes from the form of the prompt and from what
    documents of one collection have in common; what it loses on specificity is lost to any text.
    """

    name: ClassVar[str] = "swapped"
    takes: ClassVar[tuple[str, ...]] = ("document",)
    about: ClassVar[str] = "another document of the split stands before every question (control method, in context)"
