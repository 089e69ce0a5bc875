"""Rows of like length together in one pass, under a budget of tokens that shrinks when memory runs out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from evaluation.models.devices import free_memory, least_free_bytes, out_of_memory

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

CPU_TOKENS = 1024
"""On a CPU a pass over more tokens is no faster: its arithmetic is saturated."""

CPU_PADDING = 32
"""On a CPU a pass of its own costs as much as so many tokens (the weights are read anew), so more are not padded."""

SHARE = 0.35
"""Of a CUDA device's free memory, what one pass may take: the rest is for caches and for what estimates leave out."""

PATIENCE = 2
"""Calls without a shortage before a budget grows again, at first."""

T = TypeVar("T")
R = TypeVar("R")


class TokenBudget:
    """The most tokens, padding included, in one forward pass.

    It halves whenever a pass runs out of memory. After some calls without a shortage it doubles again, up to where it
    started; every further shortage makes it wait for twice as many, so a run settles at what fits.

    Args:
        tokens: Where it starts.
        padding: The most padded tokens of a pass; None: any number.

    Example:
        >>> budget = TokenBudget(8)
        >>> budget.shrink()
        >>> budget.tokens
        4
    """

    def __init__(self, tokens: int, *, padding: int | None = None) -> None:
        self.tokens, self.padding = max(tokens, 1), padding
        self._start, self._patience, self._good = self.tokens, PATIENCE, 0

    def recover(self) -> None:
        """Told after a call that had memory enough: double it where that was so often enough."""
        self._good += 1
        if self.tokens < self._start and self._good >= self._patience:
            self.tokens, self._good = min(self._start, 2 * self.tokens), 0
            log.info("memory is enough again: passes of up to %d tokens", self.tokens)

    def shrink(self) -> None:
        """Halve it."""
        self.tokens = max(1, self.tokens // 2)
        self._good, self._patience = 0, 2 * self._patience
        log.warning("memory ran out: passes of at most %d tokens from here on", self.tokens)


def default_budget(lm: LM, *, gradients: bool = False, blocks: int | None = None) -> TokenBudget:
    """A budget for a model: a fixed one on a CPU, from the free memory and the model's widths on CUDA.

    Args:
        lm: The model.
        gradients: Whether passes keep what the way back needs.
        blocks: Of how many blocks they keep it; None: of all.
    """
    if lm.device.type != "cuda":
        return TokenBudget(CPU_TOKENS, padding=None if gradients else CPU_PADDING)
    free = least_free_bytes(lm.devices)
    layout = lm.layout
    a_token = 4 * (8 * layout.width + 3 * layout.inner)  # alive at once in a block, about
    if gradients:  # GPT2-XL's shape in float32: within 6 % of what a card held
        kept = layout.depth if blocks is None else blocks
        a_token = lm.dtype.itemsize * kept * (16 * layout.width + 4 * layout.inner)
    return TokenBudget(max(256, int(SHARE * free / a_token)))


def pack_batches(
    items: Sequence[T], length: Callable[[T], int], tokens: int, *, padding: int | None = None
) -> Iterator[list[T]]:
    """Items sorted by length, cut where rows times longest row would pass ``tokens`` (a longer single one runs alone).

    With ``padding`` also where the rows before an item would be padded by more tokens than that, together.

    Example:
        >>> list(pack_batches(["aaa", "b", "cc"], len, 4))
        [['b', 'cc'], ['aaa']]
        >>> list(pack_batches(["aaaa", "b", "cc"], len, 99, padding=1))
        [['b', 'cc'], ['aaaa']]
    """
    batch: list[T] = []
    filled = 0
    for item in sorted(items, key=length):
        whole = (len(batch) + 1) * length(item)
        if batch and (whole > tokens or (padding is not None and whole - length(item) - filled > padding)):
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += length(item)
    if batch:
        yield batch


def in_batches(
    items: Sequence[T], length: Callable[[T], int], run: Callable[[list[T]], Sequence[R]], budget: TokenBudget
) -> list[R]:
    """``run`` over batches of like length; results in the order of the items.

    A batch that runs out of memory is cut in two and tried again under the halved budget, so ``run`` must leave
    nothing behind when it fails.

    Raises:
        MemoryError: (or CUDA's error) one item alone does not fit.
    """
    by_index: dict[int, R] = {}
    order = range(len(items))
    waiting = list(pack_batches(order, lambda i: length(items[i]), budget.tokens, padding=budget.padding))
    waiting.reverse()
    short = False
    while waiting:
        batch = waiting.pop()
        try:
            results = run([items[i] for i in batch])
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error) or len(batch) == 1:
                raise
            failed = True
        else:
            failed = False
            by_index.update(zip(batch, results, strict=True))
        if failed:  # outside the handler, whose traceback would keep the failed pass's tensors alive
            short = True
            free_memory()
            budget.shrink()
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]]
    if not short:
        budget.recover()
    return [by_index[i] for i in range(len(items))]
