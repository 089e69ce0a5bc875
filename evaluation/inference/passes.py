"""One forward pass over padded rows: logits at the scored positions only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from evaluation.inference.prefix_cache import Prefix
    from evaluation.models.language_model import LM


def logits_at(
    lm: LM,
    ids: Tensor,
    mask: Tensor,
    rows: Sequence[int] | Tensor,
    positions: Sequence[int] | Tensor,
    *,
    after: Prefix | None = None,
    depths: Tensor | None = None,
) -> Tensor:
    """Logits after the given positions, float32 [scored positions, vocabulary]; the head runs at these only.

    Args:
        lm: The model.
        ids: Right-padded token ids [rows, tokens].
        mask: Attention mask of the same shape.
        rows: Row of each scored position.
        positions: Position in that row.
        after: Stored prefixes that the rows continue; ids, mask and positions then count from their ends.
        depths: Position ids, if they are not simply counted (rows without ``after``).
    """
    more: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
    if after is not None:
        more = after.arguments(mask, limit=lm.limit)
    elif depths is not None:
        more["position_ids"] = depths
    plain = lm.layout.plain_head
    out = (lm.module(lm.layout.base) if plain else lm.model)(input_ids=ids, **more)
    values: Tensor = out.last_hidden_state if plain else out.logits
    if isinstance(rows, Tensor) and isinstance(positions, Tensor):  # values may be on another device (device map)
        rows, positions = rows.to(values.device), positions.to(values.device)
    chosen = values[rows, positions]
    return (lm.module(lm.layout.head)(chosen) if plain else chosen).to(lm.device).float()
