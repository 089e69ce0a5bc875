"""Reading keys and states where every group of rows has its own edit in the making.

A method that edits layer after layer reads every layer's keys in the model that its own earlier layers changed. With
one edit a group, hundreds of them do that side by side without touching a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal

import torch
from torch import Tensor, nn

from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta, applied
from evaluation.inference.batching import default_budget, in_batches
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.models.tokenization import TokenPosition


@torch.no_grad()
def read_at(
    lm: LM,
    module: nn.Module,
    what: Literal["input", "output"],
    prompts: Sequence[TokenPosition],
    groups: Sequence[int],
    edits: Sequence[Sequence[Delta]],
) -> Tensor:
    """What a module reads or returns at the marked tokens, float32 [prompts, width], on the model's first device.

    Args:
        lm: The model.
        module: Of a layer; the pass ends with it.
        what: Its input or its output.
        prompts: Rows with a marked token; a row ends there.
        groups: Which edit each row runs with.
        edits: By group. A single one is put on the weights: its rank may be as large as a batch of facts.
    """
    many = PerRow(lm.model, edits) if len(edits) > 1 else None

    def run(batch: list[tuple[TokenPosition, int]]) -> list[Tensor]:
        ids, mask = lm.pad([p.ids[: p.last + 1] for p, _ in batch])
        with _apply_edits(lm, many, edits, [group for _, group in batch]), capture(module) as seen:
            lm.run_to(module, ids, mask)
        states: Tensor = getattr(seen, what)
        return list(states[range(len(batch)), [p.last for p, _ in batch]].float())

    pairs = list(zip(prompts, groups, strict=True))
    return torch.stack(in_batches(pairs, lambda pair: pair[0].last + 1, run, default_budget(lm))).to(lm.device)


def _apply_edits(
    lm: LM, many: PerRow | None, edits: Sequence[Sequence[Delta]], groups: Sequence[int]
) -> AbstractContextManager[None]:
    return applied(lm.model, edits[0]) if many is None else many.on(groups)
