"""Reading keys and states where every group of rows has its own edit in the making.

A method that edits layer after layer reads every layer's keys in the model that its own earlier layers changed. With
one edit a group, hundreds of them do that side by side without touching a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import Tensor, nn

from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta, applied
from evaluation.inference.batching import default_budget, in_batches
from evaluation.inference.partial_forward import LayerInput, resume_at, run_until
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.models.tokens.tokenization import TokenPosition


class LowerBlocks:
    """What a block reads in rows that were read before: what stands below it is run once a row.

    Edits below the block are finished. As more of them are, the block is a later one (``raise_to``), and rows go on
    from where they were.

    Args:
        layer: The block, from 0; modules that are read, and edits in the making, stand there or above.
    """

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self._read: dict[tuple[tuple[tuple[int, ...], int], ...], LayerInput] = {}

    def raise_to(self, layer: int) -> None:
        """Have passes start at a later block: no edit below it will change any more."""
        self.layer = max(self.layer, layer)

    def resumed(
        self, lm: LM, rows: Sequence[tuple[int, ...]], groups: Sequence[int], ids: Tensor, mask: Tensor
    ) -> LayerInput:
        """Where a pass over rows is to start, under the edits of their groups; ids and mask are theirs, padded."""
        key = tuple(zip(rows, groups, strict=True))
        known = self._read.get(key)
        if known is None or known.layer < self.layer:
            with nullcontext() if known is None else resume_at(lm, known):
                self._read[key] = run_until(lm, self.layer, ids, mask)
        return self._read[key]


@torch.no_grad()
def read_at(
    lm: LM,
    module: nn.Module,
    what: Literal["input", "output"],
    prompts: Sequence[TokenPosition],
    groups: Sequence[int],
    edits: Sequence[Sequence[Delta]],
    *,
    below: LowerBlocks | None = None,
) -> Tensor:
    """What a module reads or returns at the marked tokens, float32 [prompts, width], on the model's first device.

    Args:
        lm: The model.
        module: Of a layer; the pass ends with it.
        what: Its input or its output.
        prompts: Rows with a marked token; a row ends there.
        groups: Which edit each row runs with.
        edits: By group. A single one is put on the weights: its rank may be as large as a batch of facts.
        below: Kept from one reading to the next, it has passes start at its block.
    """
    many = PerRow(lm.model, edits) if len(edits) > 1 else None

    def run(batch: list[tuple[TokenPosition, int]]) -> list[Tensor]:
        rows = [p.ids[: p.last + 1] for p, _ in batch]
        ids, mask = lm.pad(rows)
        own = [group for _, group in batch]
        with _apply_edits(lm, many, edits, own):
            start = nullcontext() if below is None else resume_at(lm, below.resumed(lm, rows, own, ids, mask))
            with start, capture(module) as seen:
                lm.run_to(module, ids, mask)
        states: Tensor = getattr(seen, what)
        return list(states[range(len(batch)), [p.last for p, _ in batch]].float())

    pairs = list(zip(prompts, groups, strict=True))
    return torch.stack(in_batches(pairs, lambda pair: pair[0].last + 1, run, default_budget(lm))).to(lm.device)


def _apply_edits(
    lm: LM, many: PerRow | None, edits: Sequence[Sequence[Delta]], groups: Sequence[int]
) -> AbstractContextManager[None]:
    return applied(lm.model, edits[0]) if many is None else many.on(groups)
