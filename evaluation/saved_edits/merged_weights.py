"""An edit merged into the weights in their own type: what stands in a saved model, rounding included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, WeightDelta, owners, restore
from evaluation.models.linear_maps import is_transposed
from schemas.core.errors import UserError


@contextmanager
def merge_into_weights(model: nn.Module, deltas: Sequence[Delta]) -> Iterator[float]:
    """Run the block with the changes in the weights themselves, of whatever type; restored bit for bit at the end.

    Sums are float32 and then rounded to the weight's type. ``evaluation.edits.weight_deltas.applied`` rounds nothing:
    it keeps changes of narrow weights beside them.

    Args:
        model: The model.
        deltas: Its changes; several of one weight add up before anything is rounded.

    Yields:
        How far the stored changes are from the wanted ones: the largest share over the weights of the norm of the
        difference in the norm of the change (0 where nothing is rounded away, 1 where a change vanished).

    Raises:
        UserError: a change names no linear map, has another shape, is routed, or its weight is shared with another
            module.
    """
    groups: dict[nn.Module, list[WeightDelta]] = {}
    for delta in deltas:
        refuse_shared(model, delta)
        if isinstance(delta, RoutedDelta):
            raise not_savable(delta.weight)
        groups.setdefault(owners(model, delta)[0], []).append(delta)
    saved: dict[nn.Module, Tensor] = {}
    try:
        lost = [_merge(module, module_deltas, saved) for module, module_deltas in groups.items()]
        yield max(lost, default=0.0)
    finally:
        restore(saved)


@torch.no_grad()
def _merge(module: nn.Module, deltas: Sequence[WeightDelta], saved: dict[nn.Module, Tensor]) -> float:
    """Add changes to one weight; the share of them that rounding takes."""
    weight = module.weight
    assert isinstance(weight, Tensor)
    change = torch.stack([d.matrix().to(weight.device).float() for d in deltas]).sum(0)
    change = change.T if is_transposed(module) else change
    saved[module] = weight.detach().clone()
    weight.copy_((weight.float() + change).to(weight.dtype))
    size = float(change.norm())
    if weight.dtype in (torch.float32, torch.float64) or not size:
        return 0.0
    return float((weight.float() - saved[module].float() - change).norm()) / size


def not_savable(name: str) -> UserError:
    """Why a routed change is in no file of weights; it is named by its method or its weight."""
    return UserError(
        f"an edit of '{name}' is switched on prompt by prompt, so no weights, adapter or file of changes can hold it",
        fix="use it in a run (scedit run), or save a method that changes weights, such as rome, memit, ft or lora",
    )


def refuse_shared(model: nn.Module, delta: Delta) -> None:
    """Refuse a change of a weight that another module uses too (a head tied to the embedding): it would move both.

    Raises:
        UserError: the weight is shared.
    """
    _, *others = owners(model, delta)
    for name, module in model.named_modules():
        if module in others:
            raise UserError(
                f"'{delta.weight}' is the weight of '{name}' too: an edit of it cannot be saved",
                fix="edit a weight inside a block",
            )
