"""Options that locate-and-edit methods share, each declared once, and where the second moments of keys come from."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, PositiveInt

from curation.files.artifact_cache import Cache
from evaluation.covariance.corpus import local_files
from evaluation.covariance.covariance import ENOUGH, KeyCovariance, key_covariances, open_corpus
from evaluation.covariance.pack import read_manifest, read_pack
from evaluation.editors.base import FactFormat
from evaluation.models.language_model import LM
from schemas.core.config import Options

log = logging.getLogger(__name__)

TemplateLengths = tuple[tuple[PositiveInt, PositiveInt], ...]
"""Context templates to sample: pairs (tokens, how many)."""


class ValueSearchParams(FactFormat):
    """How the value is searched for (``value_search``), and in which contexts.

    Attributes:
        steps: Evaluations of the loss in the search (one more than updates).
        lr: Adam's learning rate.
        kl_weight: Weight of the divergence on "{} is a".
        weight_decay: Weight of |δ|/|v₀|².
        clamp: δ stays within this many |v₀|.
        stop_below: Loss at which the search ends.
        templates: Context templates, each ending in ``{}``, the first a bare ``{}``; None: sampled from the model.
        template_lengths: Pairs (tokens, how many) for sampling.
    """

    steps: int = Field(default=25, ge=1)
    lr: float = Field(default=0.5, gt=0)
    kl_weight: float = Field(default=0.0625, ge=0)
    weight_decay: float = Field(default=1e-3, ge=0)
    clamp: float = Field(default=4.0, gt=0)
    stop_below: float = 0.05
    templates: tuple[str, ...] | None = None
    template_lengths: TemplateLengths = ((5, 10), (10, 10))


class CovarianceParams(Options):
    """Where the keys' second moments come from (``obtain_moments``).

    Attributes:
        corpus: Text file(s) for them, or ``hub:NAME...``; None: the shipped corpus.
        cap: Most tokens of one document.
        moments: A pack of ready second moments (``scedit model covariance compute --out``), instead of a corpus.
        ridge: Added to their diagonal, as a share of its mean; needed where the corpus has fewer tokens than a key
            entries.
    """

    corpus: tuple[str, ...] | str | None = None
    cap: int | None = Field(default=None, ge=1)
    moments: str | None = None
    ridge: float = Field(default=0.0, ge=0)

    @property
    def files(self) -> tuple[str, ...]:
        """Local files that are read for them."""
        return (self.moments,) if self.moments else local_files(self.corpus)


def moments_digest(options: CovarianceParams) -> dict[str, str]:
    """What the statistics depend on besides the options: the digest of the pack or of the corpus."""
    if options.moments:
        return {"moments": read_manifest(Path(options.moments)).sha256}  # it is verified when it is read
    return {"corpus": open_corpus(options.corpus).digest}


def obtain_moments(
    options: CovarianceParams, lm: LM, layers: Sequence[int], *, cache: Cache
) -> dict[int, KeyCovariance]:
    """Second moments of the layers' keys.

    Raises:
        UserError: the ready file is damaged, of another model or lacks a layer; the corpus cannot be read.
    """
    if options.moments:
        return read_pack(Path(options.moments), lm=lm, layers=layers).layers
    covariances = key_covariances(lm, layers, open_corpus(options.corpus), cache=cache, cap=options.cap)
    tokens = min(m.tokens for m in covariances.values())
    if tokens < ENOUGH * lm.layout.inner:
        log.warning(
            "%d tokens are few for keys of %d entries: the second moments are noisy, give a larger corpus",
            tokens,
            lm.layout.inner,
        )
    return covariances
