"""Measuring second moments: one pass over a corpus for all layers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.covariance.corpus import TextSource
from evaluation.covariance.running_sums import RunningSums
from evaluation.inference.batching import pack_batches
from evaluation.models.hooks import ModuleActivations, capture
from evaluation.models.language_model import LM
from evaluation.models.loading import exact_products

log = logging.getLogger(__name__)

WINDOW = 128
"""Documents that are sorted by length together."""


class PassProgress(NamedTuple):
    """How far a pass over a corpus has come.

    Attributes:
        documents: Read so far.
        tokens: Keys in the sums.
        characters: Of the documents.
        share: Part of the corpus that is done, or None where its size is not known.
        seconds_left: At the pace so far, or None.
    """

    documents: int
    tokens: int
    characters: int
    share: float | None
    seconds_left: float | None


class CovarianceSums(NamedTuple):
    """Sums of k kᵀ by layer, float64 [inner, inner] on the CPU, over ``tokens`` keys of the first ``documents``."""

    layers: dict[int, Tensor]
    documents: int = 0
    tokens: int = 0
    characters: int = 0


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
    running, report, texts = RunningSums(sums.layers), _Teller(corpus, on_progress or _log), corpus.stream()
    report(sums)
    with exact_products(), ExitStack() as hooks:
        seen = {n: hooks.enter_context(capture(lm.projection(n))) for n in layers}
        while window := list(islice(texts, WINDOW)):
            tokens = _add(lm, seen, running, window, cap=cap, batch_tokens=batch_tokens)
            running.count(tokens)
            sums = sums._replace(
                documents=sums.documents + len(window),
                tokens=sums.tokens + tokens,
                characters=sums.characters + sum(map(len, window)),
            )
            report(sums)
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


class _Teller:
    """Tells how far the pass is, with the time left at the pace so far."""

    def __init__(self, corpus: TextSource, on_progress: Callable[[PassProgress], None]) -> None:
        self._corpus, self._on_progress, self._began = corpus, on_progress, time.monotonic()

    def __call__(self, sums: CovarianceSums) -> None:
        corpus, share = self._corpus, None
        if corpus.characters:
            share = sums.characters / corpus.characters
        elif corpus.count:
            share = sums.documents / corpus.count
        left = (time.monotonic() - self._began) * (1 - share) / share if share else None
        self._on_progress(PassProgress(sums.documents, sums.tokens, sums.characters, share, left))


def _log(done: PassProgress) -> None:
    left = "" if done.seconds_left is None else f", about {done.seconds_left:.0f} s left"
    log.info("keys: %d tokens of %d documents%s", done.tokens, done.documents, left)
