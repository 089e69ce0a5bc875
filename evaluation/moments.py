"""Second moments of keys: how the inputs of an MLP output projection are spread over plain text (ROME §3.1, Eq. 2).

C = E[k kᵀ] over all tokens of a corpus. All wanted layers are measured in one pass; each is kept in the cache under the
model's revision, the corpus digest, the length cap and the dtype, and checked when it is read back.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from evaluation.cache import Cache
from evaluation.hooks import Seen, reading
from evaluation.lm import LM
from schemas.errors import DataError, UserError
from schemas.ids import digest

log = logging.getLogger(__name__)

KIND = "moments"


@dataclass(frozen=True, eq=False)
class Moments:
    """Second moment of one layer's keys.

    Attributes:
        second: Mean of k kᵀ, [inner, inner], float32 on the CPU.
        tokens: Number of keys in the mean.
    """

    second: Tensor
    tokens: int

    def save(self, path: Path) -> None:
        """Write to a safetensors file that ``Moments.load`` reads: statistics to hand on."""
        from safetensors.torch import save_file

        save_file({"second": self.second.contiguous(), "tokens": torch.tensor(self.tokens)}, path)

    @classmethod
    def load(cls, path: Path) -> Moments:
        """Read a file written by ``save``.

        Raises:
            DataError: there is no such file, or it holds something else.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            found = load_file(path)
            return cls(found["second"].float(), int(found["tokens"]))
        except (OSError, SafetensorError, KeyError) as error:
            raise DataError(f"no second moments can be read: {error}", where=str(path)) from None


class Corpus:
    """Documents of one or more local files.

    In ``.jsonl`` every line has a ``text``; any other file is plain text whose documents are parted by blank lines.

    Raises:
        UserError: a file is missing, unreadable, or there is no text.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self.documents = tuple(text for path in paths for text in _documents(path))
        if not self.documents:
            raise UserError("the statistics corpus holds no text", where=", ".join(map(str, paths)))
        self.digest = digest(self.documents)

    @classmethod
    def shipped(cls) -> Corpus:
        """The corpus that comes with the toolkit."""
        with as_file(files("curation.shipped") / "corpus.txt") as path:
            return cls([path])


def _documents(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError("there is no such corpus file", where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the corpus cannot be read: {error}", where=str(path)) from None
    if path.suffix != ".jsonl":
        yield from (part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip())
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError):
            raise DataError("no JSON object with a 'text'", where=f"{path}, line {number}") from None
        if isinstance(found, str) and found.strip():
            yield found


def key_moments(
    lm: LM,
    layers: Sequence[int],
    corpus: Corpus,
    *,
    cache: Cache,
    cap: int | None = None,
    batch_tokens: int = 2048,
) -> dict[int, Moments]:
    """Second moments of several layers' keys, from the cache or measured in one pass over the corpus.

    Args:
        lm: The unedited model.
        layers: Which layers, counted from 0.
        corpus: The text.
        cache: Where they are kept.
        cap: The most tokens read of one document; None: as many as the model reads at once.
        batch_tokens: The most tokens, padding included, in one forward pass.
    """
    cap = min(c for c in (cap, lm.limit, 10**9) if c)
    found: dict[int, Moments] = {}
    for layer in layers:
        kept = cache.load_tensors(KIND, _identity(lm, layer, corpus, cap))
        if kept is not None and kept["second"].shape == (lm.layout.inner, lm.layout.inner):
            found[layer] = Moments(kept["second"], int(kept["tokens"]))
    missing = sorted({*layers} - {*found})
    if missing:
        for layer, moments in _measure(lm, missing, corpus, cap=cap, batch_tokens=batch_tokens).items():
            found[layer] = moments
            tensors = {"second": moments.second, "tokens": torch.tensor(moments.tokens)}
            facts = {"tokens": moments.tokens, "documents": len(corpus.documents), "model": lm.name}
            cache.save_tensors(KIND, _identity(lm, layer, corpus, cap), tensors, facts=facts)
    return found


def _identity(lm: LM, layer: int, corpus: Corpus, cap: int) -> Mapping[str, Any]:
    return {"model": lm.revision, "dtype": str(lm.dtype), "layer": layer, "corpus": corpus.digest, "cap": cap}


@torch.no_grad()
def _measure(lm: LM, layers: list[int], corpus: Corpus, *, cap: int, batch_tokens: int) -> dict[int, Moments]:
    rows = [ids[:cap] for text in corpus.documents if (ids := lm.tokenizer(text)["input_ids"])]
    rows.sort(key=len)
    size, total = lm.layout.inner, sum(map(len, rows))
    log.info("measuring keys of layers %s over %d tokens", layers, total)
    sums = {layer: torch.zeros(size, size, dtype=torch.float64, device=lm.device) for layer in layers}
    done, began, shown = 0, time.monotonic(), time.monotonic()
    with ExitStack() as hooks:
        seen: dict[int, Seen] = {n: hooks.enter_context(reading(lm.projection(n))) for n in layers}
        for batch in _batches(rows, batch_tokens):
            ids, mask = lm.pad(batch)
            lm.run_to(lm.projection(layers[-1]), ids, mask)
            for layer, total_sum in sums.items():
                keys = seen[layer].input[mask.bool()].float()
                total_sum += keys.T @ keys
            done += int(mask.sum())
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                left = (total - done) * (shown - began) / done
                log.info("keys: %d of %d tokens, about %d s left", done, total, left)
    return {layer: Moments((value / done).float().cpu(), done) for layer, value in sums.items()}


def _batches(rows: list[list[int]], batch_tokens: int) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    for row in rows:  # sorted by length: the newest is the longest
        if batch and (len(batch) + 1) * len(row) > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
