"""Spreading values over weights: closed forms of the change that writes values at keys and disturbs others least.

ROME's rank-one update, and the one formula behind MEMIT, EMMET and AlphaEdit: with a metric M of key space (C⁻¹, or the
projection P onto the null space) and keys K, the change is R Xᵀ with X = M K (λI + KᵀMK)⁻¹, where R are the residuals.
For M = C⁻¹ that is MEMIT's R Kᵀ (λC + KKᵀ)⁻¹ (Eq. 14) by Woodbury's identity, and EMMET's solution for λ → 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit.parts.cholesky import factor
from schemas.core.errors import UserError


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
