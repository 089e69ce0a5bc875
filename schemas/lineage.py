"""How a record came to be: kept in a table of its own, outside key and id."""

from __future__ import annotations

from typing import Annotated, Any

from schemas.core.records import UNLESS_NONE, Frozen

SMOKE_TEST = "plumbing"
"""How lineage and journals spell the quality of a text that only shows that the pipeline runs."""


def quality_name(stored: str | None) -> str:
    """What a quality is called on screens and pages; empty where nothing was said of it.

    Example:
        >>> quality_name("plumbing"), quality_name("draft"), quality_name(None)
        ('smoke-test', 'draft', '')
    """
    return "smoke-test" if stored == SMOKE_TEST else stored or ""


class Lineage(Frozen):
    """One act that made or judged an item.

    Attributes:
        item_id: Content id of the record that came of it.
        stage: ``load``, ``questions``, ``scripts``, ``truncate``, ``neighbours``, ``check``, ``import`` ...
        parents: Content ids of what it was made from.
        made_at: UTC time, ISO format.
        model: Model that was asked; ``endpoint`` is where (never with a key).
        answered_by: Model that answered, as the endpoint names it, with its fingerprint; None where it is the one that
            was asked.
        prompt: ``name@version`` of the prompt.
        request: Journal key of the model call, under which the raw reply stands.
        tokens_in, tokens_out: Counted by the endpoint. ``cost`` in US dollars, None where unknown.
    """

    item_id: str
    stage: str
    parents: tuple[str, ...] = ()
    made_at: str
    model: str | None = None
    endpoint: str | None = None
    prompt: str | None = None
    request: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    program: str | None = None
    detail: dict[str, Any] = {}
    answered_by: Annotated[str | None, UNLESS_NONE] = None

    @property
    def author(self) -> str | None:
        """The model that was asked, and the one that answered where that is another."""
        return f"{self.model} (answered by {self.answered_by})" if self.answered_by else self.model
