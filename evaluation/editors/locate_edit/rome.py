"""ROME (Meng et al. 2022, "Locating and Editing Factual Associations in GPT"): a rank-one change of one MLP layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.base import DIVERGENCE_RATIO, Editor, asked
from evaluation.editors.locate_edit.parts import (
    closed_form,
    context_templates,
    covariance_source,
    keys,
    value_search,
)
from evaluation.editors.locate_edit.parts.params import CovarianceParams, ValueSearchParams
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import LowRankDelta, applied
from schemas.cases import Case
from schemas.core.config import Options
from schemas.facts import Fact


class _EditedLayer(Options):
    """``layer``: the edited layer, from 0."""

    layer: int = Field(ge=0)


class _WhitenedSearch(ValueSearchParams):
    """``covariance``: use the keys' second moments; without them u is the key itself."""

    covariance: bool = True


class Rome(Editor):
    """Writes the new object at the subject's last token.

    Several requests are edited one after the other, each search running on the model that the earlier ones
    changed, as the published code does.
    """

    name: ClassVar[str] = "rome"
    edits_mlp: ClassVar[bool] = True
    version: ClassVar[int] = 1
    about: ClassVar[str] = "rank-one model editing: one MLP weight, value found by gradient descent (ROME)"
    needs: ClassVar[str] = "second moments of keys of the edited layer: a text corpus, measured once a model, or a pack"
    costs: ClassVar[str] = "up to 25 forward and backward passes from the edited layer on, over 22 short prompts"

    class Params(CovarianceParams, _WhitenedSearch, _EditedLayer):
        """Options of ROME: the edited layer, the search, and where second moments come from."""

    params: Params
    _ready: tuple[tuple[str, ...], KeyCovariance | None] | None = None

    @classmethod
    def layers_of(cls, params: Params) -> tuple[int, ...]:
        """The layers of its options."""
        return (params.layer,)

    @property
    def components(self) -> Mapping[str, str]:
        """The template sampler's version, and digests of corpus or ready statistics."""
        p = self.params
        versions = {} if p.templates is not None else {"templates": f"sampled@{context_templates.VERSION}"}
        return {**versions, **covariance_source.source_digest(p)} if p.covariance else versions

    def prepare(self, support: Sequence[Case]) -> None:
        """Sample the templates and measure the second moments, unless the cache has them."""
        self._material()

    def _material(self) -> tuple[tuple[str, ...], KeyCovariance | None]:
        if self._ready is None:
            p = self.params
            templates = context_templates.checked(p.templates) if p.templates is not None else None
            self._ready = (
                templates or context_templates.sampled(self.lm, p.template_lengths, cache=self.cache),
                covariance_source.obtain(p, self.lm, [p.layer], cache=self.cache)[p.layer] if p.covariance else None,
            )
        return self._ready

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One edit for all requests, made one after the other."""
        asked(requests)
        self._material()  # statistics and templates are those of the unedited model
        deltas: list[LowRankDelta] = []
        notes: list[dict[str, Any]] = []
        for request in requests:
            with applied(self.lm.model, deltas):
                ((delta, note),) = self._deltas_of([request])
            deltas.append(delta)
            notes.append(note)
        return WeightEdit(tuple(deltas), notes[0] if len(notes) == 1 else {"requests": notes, **_worst_note(notes)})

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits, made together: keys in one pass, values in one search."""
        return [WeightEdit((delta,), note) for delta, note in self._deltas_of(asked(requests))] if requests else []

    def _deltas_of(self, facts: Sequence[Fact]) -> list[tuple[LowRankDelta, dict[str, Any]]]:
        """For every fact the change that makes it true in the model as it stands, and what is to be noted of it."""
        p, lm = self.params, self.lm
        contexts, moments = self._material()
        averages = keys.mean_keys(lm, p.layer, facts, contexts)
        bare = self._written_at(facts, contexts)
        settings = value_search.SearchSettings.of(p)
        size = float(lm.projection(p.layer).weight.float().norm())  # type: ignore[operator]
        out = []
        for n, value in enumerate(value_search.search_values(lm, p.layer, facts, contexts, settings=settings)):
            direction = closed_form.direction(averages[n], moments, ridge=p.ridge)
            right = closed_form.right_vector(direction.u, target=value.target, key=bare.keys[n], value=bare.values[n])
            delta = LowRankDelta(lm.layout.weight(p.layer), right[:, None], direction.u[:, None])
            ratio = delta.norm() / size
            note = {
                "loss": value.loss,
                "nll": value.nll,
                "steps": value.updates,
                "value_norm": float(right.norm()),
                "norm_ratio": ratio,
                "whitened_key": direction.whitened,
                "blow_up": not ratio <= DIVERGENCE_RATIO,
            }
            out.append((delta, note))
        return out

    def _written_at(self, facts: Sequence[Fact], contexts: Sequence[str]) -> keys.KeyValues:
        """Where v* is written exactly: key and value of every fact's bare prompt, as published."""
        return keys.read(self.lm, self.params.layer, [keys.subject_place(self.lm, fact) for fact in facts])


def _worst_note(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "norm_ratio": max(n["norm_ratio"] for n in notes),
        "blow_up": any(n["blow_up"] for n in notes),
        "loss": max(n["loss"] for n in notes),
    }
