"""Closed forms of locate-and-edit methods: spread values over weights so that plain text is disturbed least.

- C⁻¹ by one Cholesky factor of the second moment C of the keys of plain text, made once (``factor``).
- The projection P onto the null space of C (AlphaEdit section 3.2, Eq. 8; ``null_space``).
- ROME's rank-one update (``direction``, ``right_vector``).
- The formula behind MEMIT, EMMET and AlphaEdit (``columns``): with a metric M of key space (C⁻¹ or P) and keys K the
  change is R Xᵀ with X = M K (λI + KᵀMK)⁻¹ and residuals R. For M = C⁻¹ that is MEMIT's R Kᵀ (λC + KKᵀ)⁻¹ (Eq. 14) by
  Woodbury's identity, and EMMET's solution for λ → 0. Nothing of the keys' full size is solved again for an edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KeyCovariance
from schemas.core.errors import UserError

NULL_SPACE_KIND = "nullspace"
"""Under which null spaces lie in the cache."""


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
    tensors = cache.load_tensors(NULL_SPACE_KIND, identity)
    if tensors is None:
        tensors = _null_space_of(moments.second.to(device, torch.float64), threshold=threshold, share=share)
        cache.save_tensors(NULL_SPACE_KIND, identity, tensors)
    space = NullSpace(tensors["used"].to(device), float(tensors["share"]))
    if not 0 < space.dimensions < len(moments.second):
        raise UserError(
            f"the null space has {space.dimensions} of {len(moments.second)} dimensions",
            fix="change null_threshold, or give null_share in its place (such as 0.02)",
        )
    return space


def _null_space_of(second: Tensor, *, threshold: float | None, share: float | None) -> dict[str, Tensor]:
    values, vectors = torch.linalg.eigh(second)  # ascending
    values = values.clamp(min=0)  # rounding leaves tiny negative ones
    below = values.cumsum(0) / values.sum()
    free = values < threshold if threshold is not None else below <= (share or 0.0)
    count = int(free.sum())
    reached = below[count - 1] if count else torch.zeros((), dtype=values.dtype)
    return {"used": vectors[:, count:].contiguous(), "share": reached}


class UpdateDirection(NamedTuple):
    """Direction u of a rank-one update in key space, [inner], unit length; ``whitened`` is k'C⁻¹k (None without C)."""

    u: Tensor
    whitened: float | None


def direction(key: Tensor, moments: KeyCovariance | None, *, ridge: float = 0.0) -> UpdateDirection:
    """The unit vector u along C⁻¹k, solved in float64; without statistics u = k / |k|.

    Raises:
        UserError: C cannot be inverted: the corpus is too small for the model.
    """
    if moments is None:
        return UpdateDirection(key / key.norm(), None)
    solved = factor(moments, key.device, ridge=ridge).solve(key)
    return UpdateDirection((solved / solved.norm()).float(), float(key.double() @ solved))


def right_vector(u: Tensor, *, target: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Λ with (W + Λuᵀ)k = v*, [width]: (v* − Wk) / (uᵀk).

    Args:
        u: From ``direction``.
        target: v*.
        key: k of the bare prompt (not the average: as the published ROME; R-ROME takes the average here too).
        value: Wk (and bias) at the bare prompt.
    """
    return (target - value) / (key @ u)


class Columns(NamedTuple):
    """What residuals are multiplied with: the change of a weight is ``residuals.T @ adjusted``.

    Attributes:
        adjusted: Xᵀ by edit, float64 [edits, keys, inner].
        reach: a = kᵀMk of every key, float64 [edits, keys].
        penalty: λ of every edit, float64 [edits].
    """

    adjusted: Tensor
    reach: Tensor
    penalty: Tensor

    def written(self, keys: Tensor) -> Tensor:
        """How much of its own residual every key receives, [edits, keys]: a / (λ + a) for a single edit."""
        return (self.adjusted * keys.double()).sum(-1)


def columns(
    keys: Tensor,
    metric: Callable[[Tensor], Tensor],
    *,
    penalty: float | None,
    fraction: float | None,
    earlier: Tensor | None = None,
) -> Columns:
    """X of independent edits, each with as many keys.

    Args:
        keys: [edits, keys, inner].
        metric: M, applied to keys: float64 [..., inner].
        penalty: λ; 0 writes the residuals whole, if the keys are independent.
        fraction: Instead of it ρ, the part of a residual to write: λ = a(1 − ρ)/ρ with the median a of the edit's keys.
            The same ρ means the same for every model, a λ does not.
        earlier: Keys of earlier edits, [earlier, inner], whose values are to stay: they take part with residuals of 0.

    Raises:
        UserError: λ is 0 and the keys are not independent.
    """
    edits, count, _ = keys.shape
    moved = metric(keys)
    reach = (moved * keys.double()).sum(-1)
    if fraction is not None:
        lam = reach.median(1).values * ((1 - fraction) / fraction)
    else:
        lam = torch.full((edits,), float(penalty or 0.0), dtype=moved.dtype, device=moved.device)
    wide, all_keys = moved, keys.double()
    if earlier is not None and len(earlier):
        wide = torch.cat([metric(earlier).expand(edits, -1, -1), moved], 1)
        all_keys = torch.cat([earlier.double().expand(edits, -1, -1), all_keys], 1)
    inner = wide @ all_keys.mT
    inner = (inner + inner.mT) / 2 + lam[:, None, None] * torch.eye(
        inner.shape[1], dtype=wide.dtype, device=wide.device
    )
    lower, failed = torch.linalg.cholesky_ex(inner)
    if bool(failed.any()) or _is_degenerate(lower):
        raise UserError(
            f"the keys of {inner.shape[1]} facts are not independent: they cannot all be written exactly",
            fix="give a penalty (such as lam = 0.1), or leave out facts that ask the same of the same subject",
        )
    adjusted = torch.cholesky_solve(wide, lower)[:, -count:]
    return Columns(adjusted, reach, lam)


def _is_degenerate(lower: Tensor) -> bool:
    """Whether a pivot is nothing but rounding."""
    pivots = lower.diagonal(dim1=1, dim2=2)
    return bool((pivots.amin(1) < 1e-7 * pivots.amax(1)).any())
