"""AnyEdit (Jiang et al. 2025, "Edit Any Knowledge Encoded in Language Models"): MEMIT for targets of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.base import Editor, FactFormat, check_requests
from evaluation.editors.locate_edit import options
from evaluation.editors.locate_edit.memit import Memit
from evaluation.editors.locate_edit.options import CovarianceParams
from evaluation.editors.locate_edit.readings import read_at
from evaluation.editors.locate_edit.residual_editor import EditedLayers
from evaluation.editors.locate_edit.stabilised import StabiliserParams, state_after
from evaluation.editors.locate_edit.target_windows import TargetWindow, kept_places, search_windows, windows_of
from evaluation.editors.locate_edit.value_search import SearchedValue, SearchSettings
from evaluation.edits.edit import Edit
from evaluation.edits.weight_deltas import WeightDelta
from evaluation.models.tokenization import TokenPosition
from schemas.cases import EditRequest


class _WindowSearch(FactFormat):
    """How targets are cut, states searched for, and residuals written.

    Attributes:
        window: Tokens of a window. ``overlap``: of these, tokens at its beginning that end the window before it.
        lead: Tokens of a document that ask for the rest of it.
        steps: Evaluations of the loss (one more than updates). ``lr``: Adam's learning rate.
        weight_decay: Weight of |δ|/|v₀|². ``clamp``: δ stays within this many |v₀|.
        stop_below: Loss at which a window's search ends.
        lam: λ, weight of what the change must not disturb, in units of the model's keys.
        rho: Instead of λ the part of the residual that a layer is to write, as for ``memit``.
    """

    window: int = Field(default=40, ge=1)
    overlap: int = Field(default=0, ge=0)
    lead: int = Field(default=5, ge=1)
    steps: int = Field(default=25, ge=1)
    lr: float = Field(default=0.5, gt=0)
    weight_decay: float = Field(default=1e-3, ge=0)
    clamp: float = Field(default=4.0, gt=0)
    stop_below: float = 1e-2
    lam: float | None = Field(default=None, ge=0)
    rho: float | None = Field(default=None, gt=0, lt=1)

    @model_validator(mode="after")
    def _one_strength(self) -> _WindowSearch:
        if (self.lam is None) == (self.rho is None):
            raise ValueError("give either lam (λ) or rho (the part of the residual to write)")
        return self

    @model_validator(mode="after")
    def _some_token_of_its_own(self) -> _WindowSearch:
        if self.overlap >= self.window:
            raise ValueError(f"overlap ({self.overlap}) must be less than window ({self.window})")
        return self


class AnyEdit(Memit):
    """A state before every window of the target, all written together by MEMIT's least squares.

    Keys of the target's other tokens take part with residuals of 0 (λC + KₚKₚᵀ + KKᵀ), so that what is said inside a
    window is not disturbed by what begins it. A fact's new object is its target; a document is asked for by its first
    tokens. No context templates, and no divergence on "{} is a": the place is not the subject's.
    """

    name: ClassVar[str] = "anyedit"
    takes: ClassVar[tuple[str, ...]] = ("fact", "document")
    about: ClassVar[str] = "a searched state before every window of a long target, written as by memit (AnyEdit)"
    costs: ClassVar[str] = (
        "up to 25 forward and backward passes a window of 40 tokens, then two passes a token and layer"
    )

    class Params(StabiliserParams, CovarianceParams, _WindowSearch, EditedLayers):  # type: ignore[override]
        """Options of AnyEdit: layers, windows, search, strength, second moments, stabilisers."""

        offers: ClassVar[tuple[str, ...]] = ("accumulate", "sphere", "rect", "prune")

    params: Params  # type: ignore[assignment]
    _moments: dict[int, KeyCovariance] | None = None

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {**options.moments_digest(self.params)}

    def _material(self) -> tuple[tuple[str, ...], dict[int, KeyCovariance]]:
        if self._moments is None:
            self._refuse_norms()
            self._moments = options.obtain_moments(self.params, self.lm, self.params.layers, cache=self.cache)
        return (), self._moments

    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        """One edit that writes all windows of all requests at once."""
        return self._write([self._windows(requests)])[0]  # type: ignore[list-item]

    def edit_after(self, requests: Sequence[EditRequest], earlier: Sequence[Edit]) -> Edit:
        """As ``edit``; what earlier edits wrote keeps its place, where ``accumulate`` says so."""
        return self._write([self._windows(requests)], state_after(earlier))[0]  # type: ignore[list-item]

    edit_each = Editor.edit_each
    edit_groups = Editor.edit_groups

    def _windows(self, requests: Sequence[EditRequest]) -> list[TargetWindow]:
        p = self.params
        return [
            one
            for n, request in enumerate(check_requests(requests))
            for one in windows_of(self.lm, n, request, window=p.window, overlap=p.overlap, lead=p.lead)
        ]

    @override
    def _search(self, facts: Sequence[Any]) -> list[SearchedValue]:
        p = self.params
        settings = SearchSettings(p.steps, p.lr, 0.0, p.weight_decay, p.clamp, p.stop_below)
        by_request: dict[int, list[TargetWindow]] = {}
        for one in facts:
            by_request.setdefault(one.request, []).append(one)
        layer = p.layers[-1]
        return [v for some in by_request.values() for v in search_windows(self.lm, layer, some, settings=settings)]

    def _kept(
        self, layer: int, facts: Sequence[Any], edits: Sequence[Sequence[WeightDelta]], earlier: Tensor | None
    ) -> Tensor | None:
        """Keys of the targets' tokens inside windows, and those of earlier edits."""
        inside = kept_places(facts)
        inside_keys = [self._read(layer, inside, edits)] if inside else []
        kept = [*([] if earlier is None else [earlier]), *inside_keys]
        return torch.cat(kept) if kept else None

    def _read(self, layer: int, places: Sequence[TokenPosition], edits: Sequence[Sequence[WeightDelta]]) -> Tensor:
        return read_at(self.lm, self.lm.projection(layer), places, edits=edits).keys

    def _keys(
        self, layer: int, facts: Sequence[Any], contexts: Sequence[str], edits: Sequence[Sequence[WeightDelta]]
    ) -> Tensor:
        """Keys before every window, [windows, inner]."""
        return self._read(layer, [one.place for one in facts], edits)

    def _states(self, facts: Sequence[Any], edits: Sequence[Sequence[WeightDelta]]) -> Tensor:
        """The last edited layer's output before every window, as it now is, [windows, width]."""
        block = self.lm.block(self.params.layers[-1])
        return read_at(self.lm, block, [one.place for one in facts], edits=edits).values
