"""ROME (Meng et al. 2022, "Locating and Editing Factual Associations in GPT"): a rank-one change of one MLP layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.base import DIVERGENCE_RATIO, check_requests
from evaluation.editors.locate_edit import closed_forms, context_templates, options, readings, value_search
from evaluation.editors.locate_edit.options import CovarianceParams, ValueSearchParams
from evaluation.editors.locate_edit.stabilised import (
    FIRST,
    CarriedState,
    StabilisedEditor,
    StabiliserParams,
    state_after,
)
from evaluation.edits.delta_stack import applied
from evaluation.edits.edit import Edit
from evaluation.edits.weight_deltas import LowRankDelta, WeightDelta
from schemas.cases import Case
from schemas.core.config import Options
from schemas.facts import Fact


class _EditedLayer(Options):
    """``layer``: the edited layer, from 0."""

    layer: int = Field(ge=0)


class _WhitenedSearch(ValueSearchParams):
    """``covariance``: use the keys' second moments; without them u is the key itself."""

    covariance: bool = True


class Rome(StabilisedEditor):
    """Writes the new object at the subject's last token.

    Several requests are edited one after the other, each search running on the model that the earlier ones
    changed, as the published code does.
    """

    name: ClassVar[str] = "rome"
    edits_mlp: ClassVar[bool] = True
    about: ClassVar[str] = "rank-one model editing: one MLP weight, value found by gradient descent (ROME)"
    needs: ClassVar[str] = "second moments of keys of the edited layer: a text corpus, measured once a model, or a pack"
    costs: ClassVar[str] = "up to 25 forward and backward passes from the edited layer on, over 22 short prompts"

    class Params(StabiliserParams, CovarianceParams, _WhitenedSearch, _EditedLayer):
        """Options of ROME: the edited layer, the search, where second moments come from, stabilisers."""

        offers: ClassVar[tuple[str, ...]] = ("nas", "sphere", "rect", "prune")

        @property
        def files(self) -> tuple[str, ...]:
            """Corpus or ready statistics, if second moments are used."""
            return super().files if self.covariance else ()

    params: Params
    _ready: tuple[tuple[str, ...], KeyCovariance | None] | None = None

    @property
    def components(self) -> Mapping[str, str]:
        """The template sampler's version, and digests of corpus or ready statistics."""
        p = self.params
        versions = {} if p.templates is not None else {"templates": f"sampled@{context_templates.VERSION}"}
        return {**versions, **options.moments_digest(p)} if p.covariance else versions

    def prepare(self, support: Sequence[Case]) -> None:
        """Sample the templates, measure the second moments, unless the cache has them, and what stabilisers need."""
        self._material()
        super().prepare(support)

    def _material(self) -> tuple[tuple[str, ...], KeyCovariance | None]:
        if self._ready is None:
            p = self.params
            templates = context_templates.check_templates(p.templates) if p.templates is not None else None
            self._ready = (
                templates or context_templates.sample_templates(self.lm, p.template_lengths, cache=self.cache),
                options.obtain_moments(p, self.lm, [p.layer], cache=self.cache)[p.layer] if p.covariance else None,
            )
        return self._ready

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One edit for all requests, made one after the other."""
        return self.edit_after(requests, ())

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Edit]) -> Edit:
        """One edit for all requests on a model that carries ``earlier``."""
        check_requests(requests)
        self._material()  # statistics and templates are those of the unedited model
        before, deltas, notes = state_after(earlier), list[WeightDelta](), list[dict[str, Any]]()
        for request in requests:
            with applied(self.lm.model, deltas):
                ((delta, note),) = self._deltas_of([request], self.added(before, deltas))
            deltas.append(delta)
            notes.append(note)
        note = notes[0] if len(notes) == 1 else {"requests": notes, **_worst_note(notes)}
        return self.finish(deltas, note, before, {})

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits, made together: keys in one pass, values in one search."""
        changes = self._deltas_of(check_requests(requests)) if requests else []
        return [self.finish([delta], note, FIRST, {}) for delta, note in changes]

    def _search(self, facts: Sequence[Fact]) -> list[value_search.SearchedValue]:
        (contexts, _), settings = self._material(), value_search.SearchSettings.of(self.params)
        return value_search.search_values(self.lm, self.params.layer, facts, contexts, settings=settings)

    def searched_values(self, facts: Sequence[Fact]) -> Tensor:
        """v*, [facts, width]."""
        return torch.stack([value.target for value in self._search(facts)])

    def _deltas_of(
        self, facts: Sequence[Fact], before: CarriedState = FIRST
    ) -> list[tuple[WeightDelta, dict[str, Any]]]:
        """For every fact the change that makes it true in the model as it stands, and what is to be noted of it."""
        p, lm = self.params, self.lm
        contexts, moments = self._material()
        averages = readings.mean_keys(lm, p.layer, facts, contexts)
        bare = self._written_at(facts, contexts)
        size = float(lm.projection(p.layer).weight.float().norm())  # type: ignore[operator]
        values = self._search(facts)
        targets = torch.stack([value.target for value in values])
        if "nas" in p.stabilise:
            wanted = self.anchor(targets)
            targets = torch.where(wanted.skipped[:, None], bare.values, wanted.values)
        changes, notes = list[LowRankDelta](), list[dict[str, Any]]()
        for n, value in enumerate(values):
            direction = closed_forms.direction(averages[n], moments, ridge=p.ridge)
            right = closed_forms.right_vector(direction.u, target=targets[n], key=bare.keys[n], value=bare.values[n])
            changes.append(LowRankDelta(lm.layout.weight(p.layer), right[:, None], direction.u[:, None]))
            notes.append(
                {
                    "loss": value.loss,
                    "nll": value.nll,
                    "steps": value.updates,
                    "value_norm": float(right.norm()),
                    "norm_ratio": 0.0,
                    "whitened_key": direction.whitened,
                    "blow_up": False,
                }
            )
        out = self.reshaped(p.layer, changes, before)
        for delta, note in zip(out, notes, strict=True):
            note["norm_ratio"] = ratio = delta.norm() / size
            note["blow_up"] = not ratio <= DIVERGENCE_RATIO
        return list(zip(out, notes, strict=True))

    def _written_at(self, facts: Sequence[Fact], contexts: Sequence[str]) -> readings.KeyValues:
        """Where v* is written exactly: key and value of every fact's bare prompt, as published."""
        prompts = [readings.subject_position(self.lm, fact) for fact in facts]
        return readings.read_at(self.lm, self.lm.projection(self.params.layer), prompts)


def _worst_note(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "norm_ratio": max(n["norm_ratio"] for n in notes),
        "blow_up": any(n["blow_up"] for n in notes),
        "loss": max(n["loss"] for n in notes),
    }
