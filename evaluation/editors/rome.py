"""ROME (Meng et al. 2022, "Locating and Editing Factual Associations in GPT"): a rank-one change of one MLP layer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from evaluation.deltas import LowRankDelta, applied
from evaluation.editors.base import Editor, asked
from evaluation.editors.parts import keys, spread, templates, values
from evaluation.edits import Edit, WeightEdit
from evaluation.loading import file_digest
from evaluation.moments import Corpus, Moments, key_moments
from schemas.cases import Case
from schemas.config import Options
from schemas.facts import Fact

log = logging.getLogger(__name__)

BLOW_UP = 1.0
"""An edit whose change is larger than the weight itself is reported as a blow-up."""

ENOUGH = 10
"""Tokens per entry of a key below which second moments are called noisy."""


class Rome(Editor):
    """Writes the new object at the subject's last token.

    Several requests are edited one after the other, each search running on the model that the earlier ones
    changed, as the published code does.
    """

    name: ClassVar[str] = "rome"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "rank-one model editing: one MLP weight, value found by gradient descent (ROME)"

    class Params(Options):
        """Options of ROME.

        Attributes:
            layer: Edited layer, from 0.
            steps: Evaluations of the loss in the value search (one more than updates). ``lr``: Adam's learning rate.
            kl_weight: Weight of the divergence on "{} is a". ``weight_decay``: weight of |δ|/|v₀|².
            clamp: δ stays within this many |v₀|. ``stop_below``: loss at which the search ends.
            templates: Context templates, each ending in ``{}``, the first a bare ``{}``; None: sampled from the model.
            template_lengths: Pairs (tokens, how many) for sampling.
            covariance: Use the keys' second moments; without them u is the key itself.
            corpus: Text file(s) for them; None: the shipped corpus. ``cap``: most tokens of one document.
            moments: File of ready second moments (``Moments.save``), instead of a corpus.
        """

        layer: int = Field(ge=0)
        steps: int = Field(default=25, ge=1)
        lr: float = Field(default=0.5, gt=0)
        kl_weight: float = Field(default=0.0625, ge=0)
        weight_decay: float = Field(default=1e-3, ge=0)
        clamp: float = Field(default=4.0, gt=0)
        stop_below: float = 0.05
        templates: tuple[str, ...] | None = None
        template_lengths: tuple[tuple[int, int], ...] = ((5, 10), (10, 10))
        covariance: bool = True
        corpus: tuple[str, ...] | str | None = None
        cap: int | None = Field(default=None, ge=1)
        moments: str | None = None

    params: Params
    _ready: tuple[tuple[str, ...], Moments | None] | None = None

    @property
    def components(self) -> Mapping[str, str]:
        """The template sampler's version, and digests of corpus or ready statistics."""
        p = self.params
        found = {} if p.templates is not None else {"templates": f"sampled@{templates.VERSION}"}
        if p.covariance and p.moments:
            found["moments"] = file_digest(Path(p.moments))
        elif p.covariance:
            found["corpus"] = self._corpus().digest
        return found

    def prepare(self, support: Sequence[Case]) -> None:
        """Sample the templates and measure the second moments, unless the cache has them."""
        self._material()

    def _material(self) -> tuple[tuple[str, ...], Moments | None]:
        if self._ready is None:
            p = self.params
            given = templates.checked(p.templates) if p.templates is not None else None
            self._ready = (
                given or templates.sampled(self.lm, p.template_lengths, cache=self.cache),
                self._moments() if p.covariance else None,
            )
        return self._ready

    def _moments(self) -> Moments:
        p = self.params
        if p.moments:
            return Moments.load(Path(p.moments))
        moments = key_moments(self.lm, [p.layer], self._corpus(), cache=self.cache, cap=p.cap)[p.layer]
        if moments.tokens < ENOUGH * self.lm.layout.inner:
            log.warning(
                "%d tokens are few for keys of %d entries: the second moments are noisy, give a larger corpus",
                moments.tokens,
                self.lm.layout.inner,
            )
        return moments

    def _corpus(self) -> Corpus:
        named = self.params.corpus
        if named is None:
            return Corpus.shipped()
        return Corpus([Path(n) for n in ((named,) if isinstance(named, str) else named)])

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """One edit for all requests, made one after the other."""
        asked(requests)
        self._material()  # statistics and templates are those of the unedited model
        deltas: list[LowRankDelta] = []
        notes: list[dict[str, Any]] = []
        for request in requests:
            with applied(self.lm.model, deltas):
                delta, note = self._one(request)
            deltas.append(delta)
            notes.append(note)
        return WeightEdit(tuple(deltas), notes[0] if len(notes) == 1 else {"requests": notes, **_worst(notes)})

    def _one(self, fact: Fact) -> tuple[LowRankDelta, dict[str, Any]]:
        p, lm = self.params, self.lm
        contexts, moments = self._material()
        key = keys.mean_key(lm, p.layer, fact, contexts)
        found = spread.direction(key, moments)
        how = values.Search(
            steps=p.steps,
            lr=p.lr,
            kl_weight=p.kl_weight,
            weight_decay=p.weight_decay,
            clamp=p.clamp,
            stop_below=p.stop_below,
        )
        value = values.search(lm, p.layer, fact, contexts, how=how)
        bare = keys.read(lm, p.layer, [keys.subject_place(lm, fact)])
        right = spread.right_vector(found.u, target=value.target, key=bare.keys[0], value=bare.values[0])
        delta = LowRankDelta(lm.layout.weight(p.layer), right[:, None], found.u[:, None])
        ratio = delta.norm() / float(lm.projection(p.layer).weight.float().norm())  # type: ignore[operator]
        note = {
            "loss": value.loss,
            "nll": value.nll,
            "steps": value.updates,
            "value_norm": float(right.norm()),
            "norm_ratio": ratio,
            "whitened_key": found.whitened,
            "blow_up": not ratio <= BLOW_UP,
        }
        return delta, note


def _worst(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "norm_ratio": max(n["norm_ratio"] for n in notes),
        "blow_up": any(n["blow_up"] for n in notes),
        "loss": max(n["loss"] for n in notes),
    }
