"""MEMIT (Meng et al. 2023, "Mass-Editing Memory in a Transformer"): many facts written over several layers at once."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit.closed_forms import factor
from evaluation.editors.locate_edit.residual_editor import ResidualEditor


class Memit(ResidualEditor):
    """Writes residuals by least squares: λC weighs how much plain text is disturbed (Eq. 14 with C₀ = λC).

    One edit of n facts solves them together. The published code solves a system of the keys' full size for every layer;
    here C is factorised once and an edit is a correction of rank n.
    """

    name: ClassVar[str] = "memit"
    about: ClassVar[str] = "a searched hidden state written over several layers by least squares (MEMIT)"

    class Params(ResidualEditor.Params):
        """Options of MEMIT: those of ``ResidualEditor``."""

    params: Params

    def metric(self, moments: KeyCovariance, layer_keys: Tensor) -> Tensor:
        """C⁻¹k."""
        return factor(moments, layer_keys.device, ridge=self.params.ridge).solve(layer_keys)
