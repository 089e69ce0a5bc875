"""PROMPT (ScEdit §3.3): every prompt is prefixed with the fact prompt and the new object; no weight changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from evaluation.editors.base import Editor, check_requests
from evaluation.edits.edit import Edit, PromptEdit
from schemas.facts import Fact


class PromptEditor(Editor):
    """Says the new fact before each prompt.

    The exact form is the fact prompt with its subject, one space, the new object, a full stop and one space, for each
    request in order; then the prompt. The paper gives (s, r) + o and leaves the stop and the spaces open.
    """

    name: ClassVar[str] = "prompt"
    about: ClassVar[str] = "the new fact is said before every prompt (in context)"
    costs: ClassVar[str] = "no search; longer prompts"

    @override
    def edit(self, requests: Sequence[Fact]) -> Edit:
        return PromptEdit(
            prefix="".join(f"{fact.fact_prompt} {fact.new_object.text}. " for fact in check_requests(requests))
        )
