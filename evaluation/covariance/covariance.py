"""Second moments of keys: how the inputs of an MLP output projection are spread over plain text (ROME §3.1, Eq. 2).

C = E[k kᵀ] over all tokens of a corpus. All wanted layers are measured in one pass; each is kept in the cache under the
model's revision, the corpus digest, the length cap and the dtype, and checked when it is read back. On a CPU every
batch is added to a float64 sum. On a CUDA device the keys are multiplied as they are (a product of two bfloat16 numbers
is exact in float32) and added in float32; that sum is added to the float64 one of the host every ``STRETCH`` tokens.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.corpus import Corpus, TextSource, open_corpus
from evaluation.inference.batching import pack_batches
from evaluation.models.devices import device_fault, least_free_bytes
from evaluation.models.hooks import ModuleActivations, capture
from evaluation.models.language_model import LM
from evaluation.models.loading import exact_products
from schemas.core.errors import DataError

log = logging.getLogger(__name__)

STRETCH = 2**20
"""Tokens whose sum is float32 on a CUDA device: five layers of an 8B model take some five seconds to bring home."""

DEVICE_SHARE = 0.5
"""Of a CUDA device's free memory, for float32 sums; layers beyond it have a pass of their own."""

HOST_BYTES = 16 * 2**30
"""Of the host's memory, for float64 sums of one pass."""

_NARROW = (torch.bfloat16, torch.float16)


class RunningSums:
    """Sums of several layers.

    Args:
        totals: Float64 [inner, inner] by layer, on the CPU: what is there already.

    Attributes:
        stretch: Tokens in the float32 sums, which are not in ``totals`` yet; 0 on a CPU.
    """

    def __init__(self, totals: Mapping[int, Tensor]) -> None:
        self.totals, self.stretch = totals, 0
        self._parts: dict[int, Tensor] = {}  # on CUDA devices, each where its layer's keys come from

    def add(self, layer: int, keys: Tensor) -> None:
        """Add the outer products of keys [tokens, inner], in the type in which the model gives them."""
        if keys.device.type != "cuda":
            wide = keys.float()
            self.totals[layer].add_(wide.T @ wide)
            return
        part = self._parts.get(layer)
        if part is None:
            part = torch.zeros(self.totals[layer].shape, dtype=torch.float32, device=keys.device)
            self._parts[layer] = part
        if keys.dtype in _NARROW and multiplies_wide(keys.device, keys.dtype):
            torch.addmm(part, keys.T, keys, out_dtype=torch.float32, out=part)
        else:
            wide = keys.float()
            part.addmm_(wide.T, wide)

    def count(self, tokens: int) -> None:
        """Told after a window; float32 sums that are long enough go into the float64 ones."""
        if self._parts:
            self.stretch += tokens
        if self.stretch >= STRETCH:
            self.settle()

    def settle(self) -> None:
        """Add the float32 sums to the float64 ones, and begin new ones."""
        for layer, part in self._parts.items():
            self.totals[layer].add_(part.cpu())
            part.zero_()
        self.stretch = 0


@cache
def multiplies_wide(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a device multiplies narrow numbers with float32 sums (PyTorch 2.8 on CUDA); tried on a small product."""
    draw = torch.Generator().manual_seed(0)
    keys = torch.randn(64, 16, generator=draw).to(device, dtype)
    part, exact = torch.ones(16, 16, device=device), keys.float().T @ keys.float() + 1
    try:
        torch.addmm(part, keys.T, keys, out_dtype=torch.float32, out=part)
    except (RuntimeError, TypeError) as error:  # NotImplementedError is a RuntimeError
        if device_fault(error):
            raise
        log.info("this PyTorch adds products of %s on %s in float32 only after widening them", dtype, device)
        return False
    return bool(((part - exact).abs() < 1e-3).all())


def layers_a_pass(lm: LM, layers: Sequence[int]) -> Iterator[list[int]]:
    """The layers in lists that one pass sums: as many as the memory of device and host holds."""
    entries = lm.layout.inner**2
    layer_limit = HOST_BYTES // (8 * entries)
    if lm.device.type == "cuda":
        layer_limit = min(layer_limit, int(DEVICE_SHARE * least_free_bytes(lm.devices)) // (4 * entries))
    layer_limit = max(1, layer_limit)
    if layer_limit < len(layers):
        log.warning("the sums of %d layers do not fit into memory together: passes of %d", len(layers), layer_limit)
    for start in range(0, len(layers), layer_limit):
        yield list(layers[start : start + layer_limit])


WINDOW = 128
"""Documents that are sorted by length together."""


class PassProgress(NamedTuple):
    """How far a pass over a corpus has come.

    Attributes:
        documents: Read so far.
        tokens: Keys in the sums.
        share: Part of the corpus that is done, or None where its size is not known.
        seconds_left: At the pace so far, or None.
    """

    documents: int
    tokens: int
    share: float | None
    seconds_left: float | None


class CovarianceSums(NamedTuple):
    """Sums of k kᵀ by layer, float64 [inner, inner] on the CPU, over ``tokens`` keys of the first ``documents``."""

    layers: dict[int, Tensor]
    documents: int = 0
    tokens: int = 0


def measure(
    lm: LM,
    layers: Sequence[int],
    corpus: TextSource,
    *,
    cap: int,
    batch_tokens: int,
    on_progress: Callable[[PassProgress], None] | None = None,
) -> CovarianceSums:
    """Sum the keys' outer products over a corpus.

    Args:
        lm: The unedited model.
        layers: Which layers, sorted.
        corpus: The text.
        cap: The most tokens of one document.
        batch_tokens: The most tokens, padding included, in one forward pass.
        on_progress: Called after every window of documents, and once at the beginning.
    """
    size = lm.layout.inner
    sums = CovarianceSums({n: torch.zeros(size, size, dtype=torch.float64) for n in layers})
    running, texts, began, tell = RunningSums(sums.layers), corpus.stream(), time.monotonic(), on_progress or _log
    tell(_progress(sums, corpus, began))
    with exact_products(), ExitStack() as hooks:
        seen = {n: hooks.enter_context(capture(lm.projection(n))) for n in layers}
        while window := list(islice(texts, WINDOW)):
            tokens = _add(lm, seen, running, window, cap=cap, batch_tokens=batch_tokens)
            running.count(tokens)
            sums = sums._replace(documents=sums.documents + len(window), tokens=sums.tokens + tokens)
            tell(_progress(sums, corpus, began))
    running.settle()
    return sums


@torch.no_grad()
def _add(
    lm: LM,
    seen: Mapping[int, ModuleActivations],
    running: RunningSums,
    window: list[str],
    *,
    cap: int,
    batch_tokens: int,
) -> int:
    """Add a window's keys to the sums; returns their number."""
    rows = [ids[:cap] for ids in lm.tokenizer(window)["input_ids"] if ids]
    for batch in pack_batches(rows, len, batch_tokens):
        ids, mask = lm.pad(batch)
        lm.run_to(lm.projection(max(seen)), ids, mask)
        real = mask.bool()
        for layer in running.totals:
            running.add(layer, seen[layer].input[real])
    return sum(map(len, rows))


def _progress(sums: CovarianceSums, corpus: TextSource, began: float) -> PassProgress:
    """How far the pass is, with the time left at the pace so far."""
    share = sums.documents / corpus.count if corpus.count else None
    left = (time.monotonic() - began) * (1 - share) / share if share else None
    return PassProgress(sums.documents, sums.tokens, share, left)


def _log(done: PassProgress) -> None:
    left = "" if done.seconds_left is None else f", about {done.seconds_left:.0f} s left"
    log.info("keys: %d tokens of %d documents%s", done.tokens, done.documents, left)


__all__ = ["Corpus", "KeyCovariance", "PassProgress", "cached_covariance", "identity", "key_covariances", "open_corpus"]


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
