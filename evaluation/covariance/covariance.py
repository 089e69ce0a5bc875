"""Second moments of keys: how the inputs of an MLP output projection are spread over plain text (ROME §3.1, Eq. 2).

C = E[k kᵀ] over all tokens of a corpus. All wanted layers are measured in one pass; each is kept in the cache under the
model's revision, the corpus digest, the length cap and the dtype, and checked when it is read back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.corpus import Corpus, TextSource, open_corpus
from evaluation.covariance.estimation import CovarianceSums, PassProgress, measure
from evaluation.covariance.running_sums import layers_a_pass
from evaluation.models.language_model import LM
from schemas.core.errors import DataError

__all__ = ["Corpus", "KeyCovariance", "PassProgress", "cached_covariance", "identity", "key_covariances", "open_corpus"]

log = logging.getLogger(__name__)

KIND = "moments"
ENOUGH = 10
"""Tokens per entry of a key below which second moments are called noisy."""


@dataclass(frozen=True, eq=False)
class KeyCovariance:
    """Second moment of one layer's keys.

    Attributes:
        second: Mean of k kᵀ, [inner, inner], float32 on the CPU.
        tokens: Number of keys in the mean.
    """

    second: Tensor
    tokens: int

    def save(self, path: Path) -> None:
        """Write statistics of one layer to a safetensors file, without a manifest; ``KeyCovariance.load`` reads it."""
        from safetensors.torch import save_file

        save_file({"second": self.second.contiguous(), "tokens": torch.tensor(self.tokens)}, path)

    @classmethod
    def load(cls, path: Path) -> KeyCovariance:
        """Read a file written by ``save``.

        Raises:
            DataError: there is no such file, or it holds something else.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(path)
            return cls(tensors["second"].float(), int(tensors["tokens"]))
        except (OSError, SafetensorError, KeyError) as error:
            raise DataError(f"no second moments can be read: {error}", where=str(path)) from None


def key_covariances(
    lm: LM,
    layers: Sequence[int],
    corpus: TextSource,
    *,
    cache: Cache,
    cap: int | None = None,
    batch_tokens: int = 2048,
    on_progress: Callable[[PassProgress], None] | None = None,
) -> dict[int, KeyCovariance]:
    """Second moments of several layers' keys, from the cache or measured in one pass over the corpus.

    Where the sums of all layers are too large for the memory of device or host, in as few passes as they fit into.

    Args:
        lm: The unedited model.
        layers: Which layers, counted from 0.
        corpus: The text.
        cache: Where they are kept.
        cap: The most tokens read of one document; None: as many as the model reads at once.
        batch_tokens: The most tokens, padding included, in one forward pass.
        on_progress: Called with the progress of the pass; None: the log.
    """
    moments = {
        n: cached for n in layers if (cached := cached_covariance(lm, n, corpus, cache=cache, cap=cap)) is not None
    }
    missing = sorted({*layers} - {*moments})
    if not missing:
        return moments
    log.info("measuring keys of layers %s over %s", missing, corpus.name)
    for some in layers_a_pass(lm, missing):
        sums = measure(lm, some, corpus, cap=_cap(lm, cap), batch_tokens=batch_tokens, on_progress=on_progress)
        moments |= _kept(lm, sums, corpus, cache=cache, cap=cap)
    return moments


def _kept(
    lm: LM, sums: CovarianceSums, corpus: TextSource, *, cache: Cache, cap: int | None
) -> dict[int, KeyCovariance]:
    """Means of the sums of a pass, which are put into the cache.

    Raises:
        DataError: the corpus gave no tokens.
    """
    if not sums.tokens:
        raise DataError("the statistics corpus gives no tokens", where=corpus.name)
    facts = {
        "tokens": sums.tokens,
        "documents": sums.documents,
        "model": lm.name,
        "corpus": corpus.name,
        "torch": str(torch.__version__),
    }
    moments = {}
    for layer, value in sums.layers.items():
        moments[layer] = KeyCovariance((value / sums.tokens).float(), sums.tokens)
        tensors = {"second": moments[layer].second, "tokens": torch.tensor(sums.tokens)}
        cache.save_tensors(KIND, identity(lm, layer, corpus, cap), tensors, facts=facts)
    return moments


def cached_covariance(
    lm: LM, layer: int, corpus: TextSource, *, cache: Cache, cap: int | None = None
) -> KeyCovariance | None:
    """One layer's second moments from the cache, or None where they were never measured."""
    tensors = cache.load_tensors(KIND, identity(lm, layer, corpus, cap))
    if tensors is None or tensors["second"].shape != (lm.layout.inner, lm.layout.inner):
        return None
    return KeyCovariance(tensors["second"], int(tensors["tokens"]))


def identity(lm: LM, layer: int, corpus: TextSource, cap: int | None) -> Mapping[str, Any]:
    """What second moments depend on: they are kept under it."""
    return {
        "model": lm.revision,
        "dtype": str(lm.dtype),
        "layer": layer,
        "corpus": corpus.digest,
        "cap": _cap(lm, cap),
        **lm.other_numerics,
    }


def _cap(lm: LM, cap: int | None) -> int:
    return min(c for c in (cap, lm.limit, 10**9) if c)
