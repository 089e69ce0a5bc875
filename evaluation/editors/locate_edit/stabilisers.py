"""Stabilisers: what keeps a sequence of edits from wearing a model down, each a function of weights and a change.

``sphere`` and ``prune`` keep a low-rank change low-rank; ``rect`` makes it one of every entry. ``nas`` acts on the
searched values, ``accumulate`` on the keys (``closed_forms.columns``).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta, WeightDelta, on
from evaluation.models.layout import is_transposed

RECT_SHARE = 0.4
"""Of the entries of a change that RECT keeps (Gu et al. 2024, "Model Editing Harms General Abilities", §4: 40 %)."""

SPHERE_SHARE = 0.5
"""Of the trace that the directions hold which SPHERE shields (released code)."""

SPHERE_STRENGTH = 0.5
"""The part of a change along these directions that SPHERE takes away (released code)."""

PRUNE_BASE = 1.2
"""Base of PRUNE's logarithm (Ma et al. 2025, "Perturbation-Restrained Sequential Model Editing")."""

NAS_LIMIT = 2.0
"""Values longer than so many mean lengths are not written at all (released code of NAS)."""


def weight_matrix(module: nn.Module) -> Tensor:
    """A linear module's weight as [out, in]."""
    weight = module.weight
    assert isinstance(weight, Tensor)
    return weight.detach().T if is_transposed(module) else weight.detach()


class AnchoredValues(NamedTuple):
    """Values of the anchored length [values, width], and which of them are not to be written, [values]."""

    values: Tensor
    skipped: Tensor


def anchored(values: Tensor, mean: float) -> AnchoredValues:
    """NAS: every value scaled to the mean length; those beyond ``NAS_LIMIT`` mean lengths are skipped.

    Args:
        values: v*, [values, width].
        mean: Mean length of values searched in the unedited model.
    """
    lengths = values.norm(dim=1)
    return AnchoredValues(values * (mean / lengths.clamp(min=1e-12))[:, None], lengths > NAS_LIMIT * mean)


def rectified(delta: WeightDelta, weight: Tensor, *, share: float = RECT_SHARE) -> DenseDelta:
    """RECT: the entries with the largest |ΔW / (W + 1e-8)| stay, the others become 0.

    Args:
        delta: The change.
        weight: W as it stands, [out, in].
        share: Part of the entries that stay.
    """
    change = delta.matrix()
    relative = (change / (weight.to(change.device).float() + 1e-8)).abs().flatten()
    kept = relative.topk(max(1, int(share * relative.numel()))).indices
    value = torch.zeros_like(relative)
    value[kept] = change.flatten()[kept]
    return DenseDelta(delta.weight, value.reshape(change.shape))


def shielded_directions(weight: Tensor, *, share: float = SPHERE_SHARE) -> Tensor:
    """U of SPHERE: the fewest first eigenvectors of ŴᵀŴ/out (rows of Ŵ have length 1) that hold a share of its trace.

    Args:
        weight: W as it stands, [out, in].
        share: Of the trace.

    Returns:
        Orthonormal columns, float64 [in, directions].
    """
    rows = weight.double()
    rows = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
    spectrum, vectors = torch.linalg.eigh(rows.T @ rows / len(rows))
    spectrum, vectors = spectrum.flip(0).clamp(min=0), vectors.flip(1)
    count = int((spectrum.cumsum(0) < share * spectrum.sum()).sum()) + 1
    directions: Tensor = vectors[:, :count]
    return directions


def shielded(delta: WeightDelta, directions: Tensor, *, strength: float = SPHERE_STRENGTH) -> WeightDelta:
    """SPHERE: ΔW(I - strength UUᵀ)."""
    if isinstance(delta, DenseDelta):
        inside = (delta.value.double() @ directions) @ directions.T
        return DenseDelta(delta.weight, (delta.value - strength * inside).float())
    right = delta.right.double()
    right = right - strength * directions @ (directions.T @ right)
    return LowRankDelta(delta.weight, delta.left, right.float())


def damping(change: WeightDelta, original: Tensor, *, base: float = PRUNE_BASE) -> LowRankDelta | None:
    """PRUNE: what is to be added to the sum of all changes; None where none of its singular values is too large.

    A singular value σ above m, the largest of W₀, becomes log(σ) - log(m) + m; others stay.

    Args:
        change: The sum, undamped: W - W₀.
        original: W₀, [out, in].
        base: Of the logarithm.
    """
    spectral_norm = torch.linalg.matrix_norm(original.double(), 2)
    u, sizes, v = _singular(on(change, original.device))  # read from a file it lies elsewhere
    large = sizes > spectral_norm
    if not bool(large.any()):
        return None
    sizes = sizes[large]
    damped = (sizes / spectral_norm).log() / torch.tensor(base).log() + spectral_norm
    left = u[:, large] * (damped - sizes)
    return LowRankDelta(change.weight, left.float().contiguous(), v[:, large].float().contiguous())


def _singular(change: WeightDelta) -> tuple[Tensor, Tensor, Tensor]:
    """U [out, r], σ [r] and V [in, r] of a change, float64; by its factors where these are smaller."""
    if isinstance(change, LowRankDelta) and change.left.shape[1] < min(change.shape):
        left, left_mix = torch.linalg.qr(change.left.double())
        right, right_mix = torch.linalg.qr(change.right.double())
        u, sizes, v = torch.linalg.svd(left_mix @ right_mix.T)
        return left @ u, sizes, right @ v.T
    u, sizes, v = torch.linalg.svd(change.matrix().double(), full_matrices=False)
    return u, sizes, v.T
