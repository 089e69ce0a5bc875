"""How a record came to be: kept in a table of its own, outside key and id."""

from __future__ import annotations

from typing import Any

from schemas.core.records import Frozen


class Lineage(Frozen):
    """One act that made or judged an item.

    Attributes:
        item_id: Content id of the record that came of it.
        stage: ``load``, ``questions``, ``scripts``, ``truncate``, ``neighbours``, ``check``, ``import`` ...
        parents: Content ids of what it was made from.
        made_at: UTC time, ISO format.
        model: Model that wrote it; ``endpoint`` is where it was asked (never with a key).
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
