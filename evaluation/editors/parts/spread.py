"""Spreading a value over a weight: the rank-one update that writes v* at k*, disturbing others least (ROME Eq. 2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.moments import Moments
from schemas.errors import UserError


class Direction(NamedTuple):
    """Direction u of a rank-one update in key space, [inner], unit length; ``whitened`` is k'C⁻¹k (None without C)."""

    u: Tensor
    whitened: float | None


def direction(key: Tensor, moments: Moments | None) -> Direction:
    """The unit vector u along C⁻¹k, solved in float64; without statistics u = k / |k|.

    Raises:
        UserError: C cannot be inverted: the corpus is too small for the model.
    """
    if moments is None:
        return Direction(key / key.norm(), None)
    second = moments.second.to(key.device, torch.float64)
    factor, failed = torch.linalg.cholesky_ex(second)
    if int(failed) or moments.tokens < len(key):  # of lower rank, though rounding may hide it
        raise UserError(
            f"the second moments of {moments.tokens} tokens cannot be inverted (keys have {len(key)} entries)",
            fix="give a larger corpus, or set covariance = false",
        )
    solved = torch.cholesky_solve(key.double()[:, None], factor)[:, 0]
    return Direction((solved / solved.norm()).float(), float(key.double() @ solved))


def right_vector(u: Tensor, *, target: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Λ with (W + Λuᵀ)k = v*, [width]: (v* − Wk) / (uᵀk).

    Args:
        u: From ``direction``.
        target: v*.
        key: k of the bare prompt (not the average: as the published ROME; R-ROME takes the average here too).
        value: Wk (and bias) at the bare prompt.
    """
    return (target - value) / (key @ u)
