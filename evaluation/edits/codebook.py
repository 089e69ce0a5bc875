"""A codebook of one layer (GRACE, Hartvigsen et al. 2023): near a stored key, a stored value stands in for the output.

The key is what the layer reads at the last token of the prompt, and the value takes the place of what it returns
there. A prompt whose key lies within an item's radius is sent to that item; all others leave the model as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from evaluation.edits.routed_deltas import RoutedDelta

MARGIN = 1e-5
"""By how much the older of two items that share their distance stays short of the middle (published)."""

SAME = 1e-4
"""Part of a key's norm within which another key is the same prompt's, read in another batch."""


class Placement(NamedTuple):
    """What a codebook does with a new key: the ``item`` it belongs to, and whether that is a new one."""

    item: int
    new: bool


@dataclass(frozen=True, eq=False)
class Codebook(RoutedDelta):
    """Items of one module; the nearest key within its radius counts.

    Attributes:
        weight: Name of the module's weight parameter.
        keys: [items, in]. ``values``: [items, out]. ``radii``: [items], Euclidean. All float32.
        labels: Token ids of what each item was learnt to say: whether two edits agree.
    """

    weight: str
    keys: Tensor
    values: Tensor
    radii: Tensor
    labels: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return self.values.shape[1], self.keys.shape[1]

    @property
    @override
    def tensors(self) -> tuple[Tensor, ...]:
        return self.keys, self.values, self.radii

    @override
    def on(self, device: torch.device) -> Codebook:
        return replace(self, keys=self.keys.to(device), values=self.values.to(device), radii=self.radii.to(device))

    def decide(self, keys: Tensor, out: Tensor, lengths: Tensor) -> Tensor:
        """The nearest item of every row's last prompt token, where that lies within its radius."""
        queries = keys[torch.arange(len(keys), device=keys.device), lengths - 1].float()
        distance, item = distances(queries, self.keys).min(1)
        return torch.where(distance <= self.radii[item], item, -1)

    def change(self, keys: Tensor, out: Tensor, lengths: Tensor | None, chosen: Tensor) -> Tensor:
        """Values at the last prompt tokens of rows that are sent to an item."""
        if lengths is None:  # the prompt was read before; its tokens stand in the cache
            return out
        rows, places = torch.arange(len(out), device=out.device), lengths - 1
        values = self.values[chosen.clamp(min=0)].to(out.dtype)
        kept = torch.where((chosen >= 0)[:, None], values, out[rows, places])
        return out.index_put((rows, places), kept)


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """Euclidean distances, [queries, keys]; exact also where two are the same (no product of matrices)."""
    return torch.cdist(queries, keys, compute_mode="donot_use_mm_for_euclid_dist")


def with_key(
    book: Codebook | None,
    key: Tensor,
    label: tuple[int, ...],
    start: Tensor,
    *,
    weight: str,
    eps: float,
) -> tuple[Codebook, Placement]:
    """The codebook after a new edit, by the published rules; its value is still to be learnt.

    Further away than the nearest item's radius and ``eps``, the key is an item with radius ``eps``. Nearer, it is one
    where the labels differ, and both radii become half the distance; where they agree, the nearest item grows to reach
    it. The same prompt with another label takes the item over: half of no distance would silence both.

    Args:
        book: The codebook so far; None: empty.
        key: [in].
        label: Token ids that the edit is to say.
        start: Value of a new item before it is learnt, [out].
        weight: Name of the module's weight parameter.
        eps: Radius of a new item.
    """
    if book is None or not len(book.keys):
        radii = torch.full((1,), eps, device=key.device)
        return Codebook(weight, key[None], start[None], radii, (label,)), Placement(0, True)
    gaps = distances(key[None], book.keys)[0]
    item = int(gaps.argmin())
    gap, radius = float(gaps[item]), float(book.radii[item])
    if gap > eps + radius:
        return _added(book, key, label, start, book.radii, eps)
    if book.labels[item] == label:
        return _grown(book, item, gap), Placement(item, False)
    if gap <= SAME * float(key.norm()):
        values, labels = book.values.clone(), list(book.labels)
        values[item], labels[item] = start, label
        return replace(book, values=values, labels=tuple(labels)), Placement(item, True)
    radii = book.radii.clone()
    radii[item] = gap / 2 - MARGIN
    return _added(book, key, label, start, radii, gap / 2)


def _grown(book: Codebook, item: int, gap: float) -> Codebook:
    """The codebook with an item that reaches a key at this distance."""
    if gap <= float(book.radii[item]):
        return book
    radii = book.radii.clone()
    radii[item] = gap
    return replace(book, radii=radii)


def _added(
    book: Codebook, key: Tensor, label: tuple[int, ...], start: Tensor, radii: Tensor, radius: float
) -> tuple[Codebook, Placement]:
    """The codebook with one item more, the others' radii as given."""
    added = replace(
        book,
        keys=torch.cat([book.keys, key[None]]),
        values=torch.cat([book.values, start[None]]),
        radii=torch.cat([radii, radii.new_tensor([radius])]),
        labels=(*book.labels, label),
    )
    return added, Placement(len(book.keys), True)


def with_value(book: Codebook, item: int, value: Tensor) -> Codebook:
    """The codebook with an item's value learnt, [out]."""
    values = book.values.clone()
    values[item] = value
    return replace(book, values=values)
