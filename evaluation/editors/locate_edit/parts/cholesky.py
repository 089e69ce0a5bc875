"""A second moment factorised once: afterwards C⁻¹k costs two triangular solves, not the solution of a new system.

Locate-and-edit methods need C⁻¹ for every edit and layer. With C = LLᵀ kept, an edit of n keys is a correction of
rank n of what is factorised already (Woodbury), so nothing of the keys' full size is ever solved again.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from schemas.core.errors import UserError


class Factor(NamedTuple):
    """Cholesky factor of C + εI, lower, float64 [inner, inner].

    Attributes:
        lower: The factor.
        ridge: Ε, in units of C; 0 where C was taken as it is.
    """

    lower: Tensor
    ridge: float

    def solve(self, keys: Tensor) -> Tensor:
        """C⁻¹k of every key, float64 [..., inner]."""
        flat = keys.double().reshape(-1, keys.shape[-1])
        return torch.cholesky_solve(flat.T, self.lower).T.reshape(keys.shape)

    @property
    def spread(self) -> float:
        """A lower bound of C's condition number: the largest over the smallest pivot, squared."""
        pivots = self.lower.diagonal()
        return float((pivots.max() / pivots.min()) ** 2)


_factors: WeakKeyDictionary[KeyCovariance, dict[tuple[str, float], Factor]] = WeakKeyDictionary()


def factor(moments: KeyCovariance, device: torch.device, *, ridge: float = 0.0) -> Factor:
    """The factor of one layer's second moment; made once for each moment, device and ridge, and kept with the moment.

    Args:
        moments: Of the layer.
        device: Where it is to be used.
        ridge: Added to the diagonal, as a share of its mean. Fewer tokens than a key has entries give a C of lower
            rank: it is refused without a ridge, and with one all directions that the corpus never showed count as
            equally rare.

    Raises:
        UserError: C cannot be inverted.
    """
    known = _factors.setdefault(moments, {})
    cached = known.get((str(device), ridge))
    if cached is None:
        cached = known[str(device), ridge] = _factorised(moments, device, ridge)
    return cached


def _factorised(moments: KeyCovariance, device: torch.device, ridge: float) -> Factor:
    second = moments.second.to(device, torch.float64, copy=True)
    size = len(second)
    added = ridge * float(second.diagonal().mean())
    if ridge:
        second.diagonal().add_(added)  # a copy in float64: the moments stay as they are
    lower, failed = torch.linalg.cholesky_ex(second)
    if int(failed) or (moments.tokens < size and not ridge):  # of lower rank, though rounding may hide it
        raise UserError(
            f"the second moments of {moments.tokens} tokens cannot be inverted (keys have {size} entries)",
            fix="give a larger corpus, or a ridge (such as ridge = 0.01), or set covariance = false where there is one",
        )
    return Factor(lower, added)
