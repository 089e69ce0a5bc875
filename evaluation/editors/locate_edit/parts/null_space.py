"""The null space of a second moment: directions of key space that plain text hardly uses (AlphaEdit §3.2, Eq. 8)."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KeyCovariance
from schemas.core.errors import UserError

KIND = "nullspace"


class NullSpace(NamedTuple):
    """An orthogonal projection P of key space onto the directions that are kept free.

    Attributes:
        used: Orthonormal columns that span what is *not* in the null space, float64 [inner, used].
        share: Part of the trace of C that falls into the null space: how much of the keys of plain text an edit can
            still reach.
    """

    used: Tensor
    share: float

    def project(self, keys: Tensor) -> Tensor:
        """Pk of every key, float64 [..., inner]."""
        keys = keys.double()
        return keys - (keys @ self.used) @ self.used.T

    @property
    def dimensions(self) -> int:
        """Of the null space."""
        return self.used.shape[0] - self.used.shape[1]


def null_space(
    moments: KeyCovariance, device: torch.device, *, threshold: float | None, share: float | None, cache: Cache
) -> NullSpace:
    """The null space of C, from the cache or from its eigenvectors.

    Args:
        moments: Of the layer.
        device: Where it is to be used.
        threshold: Eigenvalues below it count as none (as published; a number in units of the model's keys).
        share: Instead of it: as many of the smallest eigenvalues as hold this part of the trace. It means the same for
            every model, a threshold does not.
        cache: Where it is kept, under the second moment's own digest.

    Raises:
        UserError: the null space is empty, or all of key space.
    """
    content = hashlib.sha256(moments.second.contiguous().numpy().tobytes()).hexdigest()
    identity = {"moments": content, "threshold": threshold, "share": share}
    tensors = cache.load_tensors(KIND, identity)
    if tensors is None:
        tensors = _split(moments.second.to(device, torch.float64), threshold=threshold, share=share)
        cache.save_tensors(KIND, identity, tensors)
    space = NullSpace(tensors["used"].to(device), float(tensors["share"]))
    if not 0 < space.dimensions < len(moments.second):
        raise UserError(
            f"the null space has {space.dimensions} of {len(moments.second)} dimensions",
            fix="change null_threshold, or give null_share in its place (such as 0.02)",
        )
    return space


def _split(second: Tensor, *, threshold: float | None, share: float | None) -> dict[str, Tensor]:
    values, vectors = torch.linalg.eigh(second)  # ascending
    values = values.clamp(min=0)  # rounding leaves tiny negative ones
    below = values.cumsum(0) / values.sum()
    free = values < threshold if threshold is not None else below <= (share or 0.0)
    count = int(free.sum())
    reached = below[count - 1] if count else torch.zeros((), dtype=values.dtype)
    return {"used": vectors[:, count:].contiguous(), "share": reached}
