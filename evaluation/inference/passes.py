"""One forward pass over padded rows: logits at the places that somebody asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from evaluation.inference.prefix_cache import Prefix
    from evaluation.models.language_model import LM


def logits_at(
    lm: LM, ids: Tensor, mask: Tensor, rows: Sequence[int], places: Sequence[int], *, after: Prefix | None = None
) -> Tensor:
    """Logits after the given places, float32 [places, vocabulary]; the head runs on these places only.

    Args:
        lm: The model.
        ids: Right-padded token ids [rows, positions].
        mask: Attention mask of the same shape.
        rows: Row of each wanted place.
        places: Position in that row.
        after: Beginnings that the rows continue; ids, mask and places then count from their ends.
    """
    more: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
    if after is not None:
        more = after.arguments(mask, limit=lm.limit)
    if not lm.layout.plain_head:
        logits: Tensor = lm.model(input_ids=ids, **more).logits
        return logits[rows, places].to(lm.device).float()
    out = lm.module(lm.layout.base)(input_ids=ids, **more)
    picked: Tensor = lm.module(lm.layout.head)(out.last_hidden_state[rows, places])
    return picked.to(lm.device).float()
