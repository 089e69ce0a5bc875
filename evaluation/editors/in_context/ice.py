"""Editing in context with an instruction: the model is told to take the new fact as true (ICE, Cohen et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from evaluation.editors.base import Editor, check_requests
from evaluation.editors.in_context.retrieval import said_before, statement
from evaluation.edits.edit import Edit, PromptEdit
from schemas.cases import EditRequest
from schemas.core.config import Options
from schemas.documents.document import Document
from schemas.events.event import Event


class InContextEditor(Editor):
    """Puts an instruction with the new facts before every prompt.

    Cohen et al. (2024, "Evaluating the Ripple Effects of Knowledge Editing") write "Imagine that" before the fact; the
    sentence after it is ours. The template is an option. Events stand on a line each instead (ELKEN, Table 13),
    documents in a paragraph each (MULFE, Example 7).
    """

    name: ClassVar[str] = "ice"
    takes: ClassVar[tuple[str, ...]] = ("fact", "event", "document")
    about: ClassVar[str] = "an instruction to take the new fact as true stands before every prompt (in context)"
    costs: ClassVar[str] = "no search; longer prompts"

    class Params(Options):
        """Options of editing in context.

        Attributes:
            template: What stands before a prompt; ``{facts}`` is replaced by the new facts, joined by "; ". Not for
                events and documents.
        """

        template: str = Field(default="Imagine that {facts}. Answer accordingly, whatever you remember.\n")

        @field_validator("template")
        @classmethod
        def _gap(cls, template: str) -> str:
            if template.count("{facts}") != 1:
                raise ValueError("must hold {facts} exactly once")
            return template

    params: Params

    @override
    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        if all(isinstance(request, Event | Document) for request in check_requests(requests)):
            return PromptEdit(prefix="".join(map(said_before, requests)))
        facts = "; ".join(map(statement, requests))
        return PromptEdit(prefix=self.params.template.replace("{facts}", facts))
