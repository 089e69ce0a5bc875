"""One forward pass over padded rows: logits at the places that somebody asks for.

Above the last attention a token's state is its own affair, so what is not read there is not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from evaluation.models.transfers import send

if TYPE_CHECKING:
    from evaluation.inference.prefix_cache import Prefix
    from evaluation.models.language_model import LM

Logprobs = Callable[[Tensor, Tensor], Tensor]
"""Given places, as numbers of those that were read, and a token for each: log-probabilities of the tokens, [tokens]."""


def logits_at(
    lm: LM,
    ids: Tensor,
    mask: Tensor,
    rows: Sequence[int] | Tensor,
    places: Sequence[int] | Tensor,
    *,
    after: Prefix | None = None,
    depths: Tensor | None = None,
) -> Tensor:
    """Logits after the given places, float32 [places, vocabulary]; the head runs on these places only.

    Args:
        lm: The model.
        ids: Right-padded token ids [rows, positions].
        mask: Attention mask of the same shape.
        rows: Row of each wanted place.
        places: Position in that row.
        after: Beginnings that the rows continue; ids, mask and places then count from their ends.
        depths: Position ids, where they are not simply counted (rows without ``after``).
    """
    picked = _read_at(lm, ids, mask, rows, places, after=after, depths=depths)
    return (lm.module(lm.layout.head)(picked) if lm.layout.plain_head else picked).to(lm.device).float()


def logprobs_at(
    lm: LM,
    ids: Tensor,
    mask: Tensor,
    rows: Sequence[int] | Tensor,
    places: Sequence[int] | Tensor,
    *,
    depths: Tensor | None = None,
) -> Logprobs:
    """As ``logits_at``: log-probabilities of tokens after the given places, for which the head runs when asked."""
    picked = _read_at(lm, ids, mask, rows, places, after=None, depths=depths)
    logits = lm.module(lm.layout.head)(picked) if lm.layout.plain_head else picked
    return partial(_token_logprobs, logits)


def _token_logprobs(logits: Tensor, at: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities of tokens, float32 [tokens], each after one of the positions, given by its number."""
    return logits.to(at.device).float().log_softmax(-1)[at, tokens]


def _read_at(
    lm: LM,
    ids: Tensor,
    mask: Tensor,
    rows: Sequence[int] | Tensor,
    places: Sequence[int] | Tensor,
    *,
    after: Prefix | None,
    depths: Tensor | None,
) -> Tensor:
    """What the head reads after the places, [places, width]; logits where the head is not plain."""
    more: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
    if after is not None:
        more = after.arguments(mask, limit=lm.limit)
    elif depths is not None:
        more["position_ids"] = depths
    plain = lm.layout.plain_head
    out = (lm.module(lm.layout.base) if plain else lm.model)(input_ids=ids, **more)
    values: Tensor = out.last_hidden_state if plain else out.logits
    if isinstance(rows, Tensor) and isinstance(places, Tensor):  # a spread model's values may lie on another device
        rows, places = rows.to(values.device), places.to(values.device)
    picked: Tensor = values[rows, places]
    return picked


def last_mlp(lm: LM) -> list[nn.Module]:
    """Maps of the last block's MLP, which need to run only where the head reads.

    None where rows are one axis there, or where the MLP is a mixture of experts.

    A change of their weights may be added to their outputs as elsewhere; a change at a place that is not read is lost.
    """
    layout = lm.layout
    names = () if layout.flat or not layout.mlp_out else (*layout.mlp_in, layout.mlp_out)
    return [lm.block(layout.depth - 1).get_submodule(name) for name in names]


@contextmanager
def only_at(modules: Sequence[nn.Module], rows: Sequence[int], places: Sequence[int]) -> Iterator[None]:
    """Linear modules compute these places alone and return zeros at all others, [rows, positions, out]."""

    def trimmed(forward: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def run(states: Tensor) -> Tensor:
            if states.ndim != 3:
                return forward(states)
            index = index_on(states.device)
            out = forward(states[index])
            return out.new_zeros(*states.shape[:2], out.shape[-1]).index_put(index, out)

        return run

    def index_on(device: torch.device) -> tuple[Tensor, Tensor]:
        if device not in held:
            held[device] = send(rows, device), send(places, device)
        return held[device]

    held: dict[torch.device, tuple[Tensor, Tensor]] = {}
    forwards = [(module, module.__dict__.get("forward")) for module in modules]
    try:
        for module in modules:
            module.forward = trimmed(module.forward)
        yield
    finally:
        for module, forward in forwards:
            if forward is None:
                module.__dict__.pop("forward", None)
            else:
                module.forward = forward
