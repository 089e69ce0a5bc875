"""Measuring second moments: one pass over a corpus for all layers, that goes on after being killed at any moment."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.corpus import TextSource
from evaluation.covariance.running_sums import RunningSums
from evaluation.models.hooks import ModuleActivations, capture
from evaluation.models.language_model import LM
from evaluation.models.loading import exact_products

log = logging.getLogger(__name__)

PARTIAL = "moments-partial"
WINDOW = 128  # documents that are sorted by length together; what is kept of an unfinished pass ends with a window
EVERY = 60.0  # seconds between states that are kept
SPARING = 20.0  # times as long as keeping one took, at least: large states take a twentieth of the time at most
SLOTS = (0, 1)  # states are written in turn: being killed in the middle of one leaves the other whole


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
    documents: int
    tokens: int
    characters: int

    def after(self, window: Sequence[str], tokens: int) -> CovarianceSums:
        """The same sums when a window of documents, of so many tokens, has been added to them."""
        read = self.documents + len(window), self.tokens + tokens, self.characters + sum(map(len, window))
        return CovarianceSums(self.layers, *read)


def measure(
    lm: LM,
    layers: Sequence[int],
    corpus: TextSource,
    *,
    cap: int,
    batch_tokens: int,
    cache: Cache,
    identity: Mapping[str, Any],
    on_progress: Callable[[PassProgress], None] | None = None,
) -> CovarianceSums:
    """Sum the keys' outer products over a corpus. A pass that was killed goes on from the last state kept.

    Args:
        lm: The unedited model.
        layers: Which layers, sorted.
        corpus: The text.
        cap: The most tokens of one document.
        batch_tokens: The most tokens, padding included, in one forward pass.
        cache: Where states of an unfinished pass are kept.
        identity: What they are kept under: model, dtype, corpus, cap.
        on_progress: Called after every window of documents, and once at the beginning.

    The result is the same to the last bit whether or not the pass was broken off, since states end with whole windows,
    and on a CUDA device with whole stretches of float32 sums.
    """
    identity = {**identity, "layers": list(layers), "batch_tokens": batch_tokens, "window": WINDOW}
    sums = _resume_sums(lm, cache, identity, layers)
    running = RunningSums(sums.layers)
    report = _Teller(corpus, sums, on_progress or _log)
    saved_at, pause, slot = time.monotonic(), EVERY, 0
    texts = corpus.stream(sums.documents)
    with exact_products(), ExitStack() as hooks:
        seen = {n: hooks.enter_context(capture(lm.projection(n))) for n in layers}
        while window := list(islice(texts, WINDOW)):
            tokens = _add(lm, seen, running, window, cap=cap, batch_tokens=batch_tokens)
            running.count(tokens)
            sums = sums.after(window, tokens)
            report(sums)
            if not running.stretch and time.monotonic() - saved_at > pause:
                began = time.monotonic()
                _keep(cache, identity, sums, slot=slot)
                saved_at, slot = time.monotonic(), 1 - slot
                pause = max(EVERY, SPARING * (saved_at - began))
    running.settle()
    _forget(cache, identity)
    return sums


def _forget(cache: Cache, identity: Mapping[str, Any]) -> None:
    for slot in SLOTS:
        cache.forget(PARTIAL, {**identity, "slot": slot})


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
    rows.sort(key=len)
    for batch in _batches(rows, batch_tokens):
        ids, mask = lm.pad(batch)
        lm.run_to(lm.projection(max(seen)), ids, mask)
        real = mask.bool()
        for layer in running.totals:
            running.add(layer, seen[layer].input[real])
    return sum(map(len, rows))


def _batches(rows: list[list[int]], batch_tokens: int) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    for row in rows:  # sorted by length: the newest is the longest
        if batch and (len(batch) + 1) * len(row) > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _resume_sums(lm: LM, cache: Cache, identity: Mapping[str, Any], layers: Sequence[int]) -> CovarianceSums:
    size = lm.layout.inner
    slots = [{**identity, "slot": slot} for slot in SLOTS]
    slots.sort(
        key=lambda slot_identity: -_documents_of(cache.manifest(PARTIAL, slot_identity))
    )  # the newest that is whole
    tensors = next(
        (loaded for slot_identity in slots if (loaded := cache.load_tensors(PARTIAL, slot_identity)) is not None), None
    )
    if tensors is None:
        empty = {n: torch.zeros(size, size, dtype=torch.float64) for n in layers}
        return CovarianceSums(empty, 0, 0, 0)
    documents, tokens, characters = (int(n) for n in tensors["done"])
    log.warning("going on after %d documents (%d tokens) of an unfinished pass", documents, tokens)
    return CovarianceSums({n: tensors[f"layer.{n}"] for n in layers}, documents, tokens, characters)


def _documents_of(manifest: dict[str, Any] | None) -> int:
    return 0 if manifest is None else int(manifest["facts"]["documents"])


def _keep(cache: Cache, identity: Mapping[str, Any], sums: CovarianceSums, *, slot: int) -> None:
    tensors = {f"layer.{n}": value for n, value in sums.layers.items()}
    tensors["done"] = torch.tensor([sums.documents, sums.tokens, sums.characters])
    slot_identity = {**identity, "slot": slot}
    cache.save_tensors(PARTIAL, slot_identity, tensors, facts={"documents": sums.documents, "tokens": sums.tokens})


class _Teller:
    """Tells how far the pass is, with the time left at the pace of this process."""

    def __init__(self, corpus: TextSource, start: CovarianceSums, on_progress: Callable[[PassProgress], None]) -> None:
        self._corpus, self._on_progress = corpus, on_progress
        self._began, self._first = time.monotonic(), self._share(start)
        self(start)

    def __call__(self, sums: CovarianceSums) -> None:
        share, left = self._share(sums), None
        if share is not None and self._first is not None and share > self._first:
            left = (time.monotonic() - self._began) * (1 - share) / (share - self._first)
        self._on_progress(PassProgress(sums.documents, sums.tokens, sums.characters, share, left))

    def _share(self, sums: CovarianceSums) -> float | None:
        if self._corpus.characters:
            return sums.characters / self._corpus.characters
        return sums.documents / self._corpus.count if self._corpus.count else None


def _log(done: PassProgress) -> None:
    left = "" if done.seconds_left is None else f", about {done.seconds_left:.0f} s left"
    log.info("keys: %d tokens of %d documents%s", done.tokens, done.documents, left)
