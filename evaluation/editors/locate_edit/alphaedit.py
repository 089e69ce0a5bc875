"""AlphaEdit (Fang et al. 2025, "Null-Space Constrained Knowledge Editing"): changes that plain text hardly sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from pydantic import Field, model_validator
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.base import asked
from evaluation.editors.locate_edit.parts.null_space import NullSpace, null_space
from evaluation.editors.locate_edit.residual_editor import ResidualEditor, SpreadEdit
from evaluation.edits.edit import Edit
from schemas.facts import Fact


class AlphaEdit(ResidualEditor):
    """Writes residuals with changes that lie in the null space of the second moments (Eq. 14).

    An edit depends on its own facts and on nothing else. The published code adds every edit's keys to a matrix that
    all later edits, also of other cases, are computed with; here a sequence hands over the edits that are in force
    (``edit_after``), whose keys then keep their values.
    """

    name: ClassVar[str] = "alphaedit"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "a searched hidden state written into the null space of plain text's keys (AlphaEdit)"
    alternatives: ClassVar[tuple[tuple[str, ...], ...]] = (("lam", "rho"), ("null_threshold", "null_share"))

    class Params(ResidualEditor.Params):
        """Options of AlphaEdit: those of ``ResidualEditor``; ``lam`` is the published L2 (10).

        Attributes:
            null_threshold: Eigenvalues of C below it span the null space, in units of the model's keys (published:
                0.02).
            null_share: Instead of it: the smallest eigenvalues that together hold this part of C's trace.
        """

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

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Edit]) -> Edit:
        """One edit for all requests on a model that carries ``earlier``: what those wrote keeps its place."""
        earlier_keys = [edit.keys for edit in earlier if isinstance(edit, SpreadEdit) and edit.keys is not None]
        held = (
            {layer: torch.cat([keys_by_layer[layer] for keys_by_layer in earlier_keys]) for layer in self.params.layers}
            if earlier_keys
            else None
        )
        return self._write([list(asked(requests))], held)[0]
