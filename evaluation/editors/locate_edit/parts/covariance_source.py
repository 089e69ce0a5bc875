"""Second moments as methods ask for them: from a ready file, from the cache, or measured over a corpus."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from curation.files.artifact_cache import Cache
from curation.files.checksums import remembered_sha256
from evaluation.covariance.covariance import ENOUGH, KeyCovariance, key_covariances, open_corpus
from evaluation.covariance.pack import load_covariance, manifest_path, read_manifest, read_pack
from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


class CovarianceOptions(Protocol):
    """Options that say where second moments come from.

    Attributes:
        corpus: Text file(s), or ``hub:NAME...``; None: the shipped corpus.
        cap: Most tokens of one document.
        moments: A ready file instead (``KeyCovariance.save`` for one layer, or a pack).
    """

    @property
    def corpus(self) -> tuple[str, ...] | str | None: ...  # noqa: D102 - see the class

    @property
    def cap(self) -> int | None: ...  # noqa: D102

    @property
    def moments(self) -> str | None: ...  # noqa: D102


def source_digest(options: CovarianceOptions) -> dict[str, str]:
    """What the statistics depend on besides the options: the digest of the ready file or of the corpus."""
    if options.moments:
        path = Path(options.moments)
        if manifest_path(path).exists():  # a pack says its digest, and is verified against it when it is read
            return {"moments": read_manifest(path).sha256}
        return {"moments": remembered_sha256(path)}
    return {"corpus": open_corpus(options.corpus).digest}


def obtain(options: CovarianceOptions, lm: LM, layers: Sequence[int], *, cache: Cache) -> dict[int, KeyCovariance]:
    """Second moments of the layers' keys.

    Raises:
        UserError: the ready file is damaged, of another model or lacks a layer; the corpus cannot be read.
    """
    if options.moments:
        return _read_covariances(Path(options.moments), lm, layers)
    covariances = key_covariances(lm, layers, open_corpus(options.corpus), cache=cache, cap=options.cap)
    tokens = min(m.tokens for m in covariances.values())
    if tokens < ENOUGH * lm.layout.inner:
        log.warning(
            "%d tokens are few for keys of %d entries: the second moments are noisy, give a larger corpus",
            tokens,
            lm.layout.inner,
        )
    return covariances


def _read_covariances(path: Path, lm: LM, layers: Sequence[int]) -> dict[int, KeyCovariance]:
    if manifest_path(path).exists():
        return read_pack(path, lm=lm, layers=layers).layers
    return {layer: load_covariance(path, layer) for layer in layers}
