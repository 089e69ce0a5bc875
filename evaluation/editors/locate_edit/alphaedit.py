"""AlphaEdit (Fang et al. 2025, "Null-Space Constrained Knowledge Editing"): changes that plain text hardly sees."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field, model_validator
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit.closed_forms import NullSpace, null_space
from evaluation.editors.locate_edit.residual_editor import ResidualEditor


class AlphaEdit(ResidualEditor):
    """Writes residuals with changes that lie in the null space of the second moments (Eq. 14).

    An edit depends on its own facts and on nothing else. The published code adds every edit's keys to a matrix that
    all later edits, also of other cases, are computed with; here a sequence hands over the edits that are active
    (``edit_after``), whose keys then keep their values.
    """

    name: ClassVar[str] = "alphaedit"
    about: ClassVar[str] = "a searched hidden state written into the null space of plain text's keys (AlphaEdit)"
    alternatives: ClassVar[tuple[tuple[str, ...], ...]] = (("lam", "rho"), ("null_threshold", "null_share"))

    keeps_earlier: ClassVar[bool] = True

    class Params(ResidualEditor.Params):
        """Options of AlphaEdit: those of ``ResidualEditor``; ``lam`` is the published L2 (10).

        Attributes:
            null_threshold: Eigenvalues of C below it span the null space, in units of the model's keys (published:
                0.02).
            null_share: Instead of it: the smallest eigenvalues that together hold this part of C's trace.
        """

        offers: ClassVar[tuple[str, ...]] = ("nas", "sphere", "rect", "prune")

        null_threshold: float | None = Field(default=None, gt=0)
        null_share: float | None = Field(default=None, gt=0, lt=1)

        @model_validator(mode="after")
        def _one_null_space(self) -> AlphaEdit.Params:
            if (self.null_threshold is None) == (self.null_share is None):
                raise ValueError("give either null_threshold or null_share")
            return self

    params: Params
    _spaces: dict[int, NullSpace] | None = None

    def _null_space(self, moments: KeyCovariance, device: torch.device) -> NullSpace:
        if self._spaces is None:
            self._spaces = {}
        space = self._spaces.get(id(moments))
        if space is None:
            p = self.params
            space = null_space(moments, device, threshold=p.null_threshold, share=p.null_share, cache=self.cache)
            self._spaces[id(moments)] = space
        return space

    def metric(self, moments: KeyCovariance, layer_keys: Tensor) -> Tensor:
        """Pk."""
        return self._null_space(moments, layer_keys.device).project(layer_keys)
