"""How a record that came of a model call is kept in the lineage: one shape, whoever asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemas.lineage import Lineage

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply


def lineage_of_call(
    item_id: str,
    stage: str,
    reply: Reply,
    client: Client,
    prompt: str,
    *,
    parents: tuple[str, ...] = (),
    detail: Mapping[str, Any] | None = None,
) -> Lineage:
    """The lineage of a record that a reply became.

    Args:
        item_id: Content id of the record.
        stage: Name of the stage.
        reply: The reply, with its journal key, time, tokens and cost.
        client: Who asked, and where.
        prompt: ``name@version`` of the prompt.
        parents: Content ids of what it was made from.
        detail: What else the stage keeps.
    """
    return Lineage(
        item_id=item_id,
        stage=stage,
        parents=parents,
        made_at=reply.at,
        model=client.endpoint.model,
        endpoint=client.address,
        prompt=prompt,
        request=reply.request,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cost=reply.cost,
        detail=dict(detail or {}),
        answered_by=reply.answered_by,
    )
