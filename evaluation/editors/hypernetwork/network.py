"""The hypernetworks of MEND (Mitchell et al. 2022) and MALMEN (Tan et al. 2024): parts of gradients in, of edits out.

The gradient of a linear layer's weight is a sum of rank-one matrices δ uᵀ, one a token: u is the layer's input, δ the
gradient of the loss at its output. The network maps each pair (u, δ) to another pair, so it never sees a whole matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

SMALL = 1e-8  # below it a spread counts as none


class GradientPairs(NamedTuple):
    """Inputs u [rows, tokens, in], output gradients δ [rows, tokens, out], and where they count: ``real``, 0 or 1."""

    u: Tensor
    delta: Tensor
    real: Tensor


class WeightChange(NamedTuple):
    """Per row the low-rank change left · rightᵀ: left [rows, out, tokens], right [rows, in, tokens]."""

    left: Tensor
    right: Tensor


class EditNetwork(nn.Module):
    """One network for all edited layers, which have one shape; layers differ in scales, offsets and step sizes.

    h = z + σ(s₁ ⊙ (U₁V₁z + b) + o₁), g = h + σ(s₂ ⊙ U₂V₂h + o₂) (Eq. 3), with z = (u, δ) normalised, σ the rectifier,
    U zero at the start: the network begins as the identity, that is as one step of plain gradient descent.

    Args:
        inputs: Length of u.
        outputs: Length of δ.
        layers: How many layers.
        rank: Rank of U·V.
        step: Step size of every layer at the start.
        seed: Seed of V.
        joint: Whether edits are made together, by least squares, which has a learnt damping (MALMEN).
    """

    def __init__(
        self, inputs: int, outputs: int, *, layers: int, rank: int, step: float, seed: int, joint: bool = False
    ) -> None:
        super().__init__()
        wide = inputs + outputs
        generator = torch.Generator().manual_seed(seed)
        self.inputs = inputs

        def low_rank() -> nn.Parameter:
            return nn.Parameter(torch.randn(rank, wide, generator=generator) / wide**0.5)

        self.v1, self.v2 = low_rank(), low_rank()
        self.u1, self.u2 = nn.Parameter(torch.zeros(wide, rank)), nn.Parameter(torch.zeros(wide, rank))
        self.bias = nn.Parameter(torch.zeros(wide))
        self.scale1, self.scale2 = nn.Parameter(torch.ones(layers, wide)), nn.Parameter(torch.ones(layers, wide))
        self.offset1, self.offset2 = nn.Parameter(torch.zeros(layers, wide)), nn.Parameter(torch.zeros(layers, wide))
        self.log_step = nn.Parameter(torch.full((layers,), step).log())
        if joint:
            self.log_damping = nn.Parameter(torch.zeros(layers))
        self.register_buffer("mean", torch.zeros(layers, wide))
        self.register_buffer("spread", torch.ones(layers, wide))

    def fit(self, layer: int, pairs: list[GradientPairs]) -> None:
        """Take mean and standard deviation of one layer's (u, δ) over training edits, for normalising."""
        z = torch.cat([torch.cat([p.u, p.delta], -1)[p.real.bool()] for p in pairs]).double()
        self.mean[layer] = z.mean(0)  # type: ignore[operator]
        self.spread[layer] = z.std(0, correction=0).clamp(min=SMALL)  # type: ignore[operator]

    def forward(self, layer: int, pairs: GradientPairs) -> WeightChange:
        """The change of one layer's weight for each row: −α Σ g_δ g_uᵀ over the row's tokens."""
        g = self._mapped(layer, pairs) * pairs.real[..., None]
        left = -self.log_step[layer].exp() * g[..., self.inputs :]
        return WeightChange(left.transpose(1, 2), g[..., : self.inputs].transpose(1, 2))

    def together(self, layer: int, pairs: GradientPairs) -> WeightChange:
        """One change of a layer's weight for all rows (Tan et al. 2024, section 3.3), as one row.

        A token's value is to change by d = −α (uᵀg_u) g_δ. The change is the S that fits all of them best:
        min Σ |S u − d|² + λ|S|², that is D (UᵀU + λI)⁻¹ Uᵀ with the tokens' d and u as columns of D and U.
        """
        real = pairs.real.bool()
        g, u = self._mapped(layer, pairs)[real], pairs.u[real]
        agreement = (u * g[:, : self.inputs]).sum(1, keepdim=True)
        differences = -self.log_step[layer].exp() * agreement * g[:, self.inputs :]
        damping = self.log_damping[layer].exp()
        if len(u) <= self.inputs:  # the same by either inverse; the smaller one is taken
            right = torch.linalg.solve(u @ u.T + damping * torch.eye(len(u), device=u.device), u).T
        else:
            right = torch.linalg.solve(u.T @ u + damping * torch.eye(self.inputs, device=u.device), u.T)
        return WeightChange(differences.T[None], right[None])

    def _mapped(self, layer: int, pairs: GradientPairs) -> Tensor:
        z = (torch.cat([pairs.u, pairs.delta], -1) - self.mean[layer]) / self.spread[layer]  # type: ignore[index]
        # clamp, not relu: its gradient at 0 is 1, where the network stands at the start
        h = z + (self.scale1[layer] * (z @ self.v1.T @ self.u1.T + self.bias) + self.offset1[layer]).clamp(min=0)
        return h + (self.scale2[layer] * (h @ self.v2.T @ self.u2.T) + self.offset2[layer]).clamp(min=0)


class EditNetworks(nn.Module):
    """A network for each shape that the edited maps have; maps of one shape share one, as its layers.

    Args:
        shapes: (inputs, outputs) of every map.
        rank: As of one network. ``step``, ``seed``, ``joint``: the same; networks after the first have seeds that
            follow.
    """

    def __init__(
        self, shapes: Sequence[tuple[int, int]], *, rank: int, step: float, seed: int, joint: bool = False
    ) -> None:
        super().__init__()
        kinds = list(dict.fromkeys(shapes))
        self.networks = nn.ModuleList(
            EditNetwork(*kind, layers=shapes.count(kind), rank=rank, step=step, seed=seed + n, joint=joint)
            for n, kind in enumerate(kinds)
        )
        self._places = [(kinds.index(kind), shapes[:at].count(kind)) for at, kind in enumerate(shapes)]

    def fit(self, at: int, pairs: list[GradientPairs]) -> None:
        """Take mean and standard deviation of one map's (u, δ) over training edits, for normalising."""
        network, layer = self._places[at]
        self.networks[network].fit(layer, pairs)  # type: ignore[operator]

    def forward(self, at: int, pairs: GradientPairs) -> WeightChange:
        """The change of one map's weight for each row."""
        network, layer = self._places[at]
        change: WeightChange = self.networks[network](layer, pairs)
        return change

    def together(self, at: int, pairs: GradientPairs) -> WeightChange:
        """One change of one map's weight for the edits of all rows."""
        network, layer = self._places[at]
        change: WeightChange = self.networks[network].together(layer, pairs)  # type: ignore[operator]
        return change
