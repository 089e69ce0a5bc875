"""Reading keys and values: what a module reads and returns at marked tokens, under edits in the making.

ROME's key is the input of the MLP output projection at the subject's last token (section 3.1, step 1). A method that
edits layer after layer reads each layer's keys in the model that its earlier layers changed; with one edit a group of
rows, many edits are read side by side without touching a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from evaluation.editors.locate_edit.context_templates import fill
from evaluation.edits.delta_stack import applied
from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.models.tokenization import TokenPosition
from schemas.facts import Fact


class KeyValues(NamedTuple):
    """Inputs [prompts, in] and outputs [prompts, out] of a module at the marked tokens, float32, on ``lm.device``."""

    keys: Tensor
    values: Tensor


def subject_position(lm: LM, fact: Fact, template: str = "{}") -> TokenPosition:
    """The fact prompt inside a context template as tokens, with the subject's last token."""
    before, _, _ = fact.prompt.partition("{}")
    prefix = fill(template, "")
    end = len(prefix) + len(before) + len(fact.subject.text)
    return lm.encode_at(prefix + fact.fact_prompt, end=end)


@torch.no_grad()
def read_at(
    lm: LM,
    module: nn.Module,
    prompts: Sequence[TokenPosition],
    *,
    edits: Sequence[Sequence[Delta]] = ((),),
    groups: Sequence[int] | None = None,
    budget: TokenBudget | None = None,
) -> KeyValues:
    """What a module of a layer reads and returns at the marked tokens.

    Passes end at the module, and rows end at the marked token: a decoder never looks ahead.

    Args:
        lm: The model; unchanged afterwards.
        module: A block or a module inside one.
        prompts: Rows with a marked token.
        edits: Changes of each group. A single group's are applied to the weights: its rank may be large.
        groups: The group of every prompt; all in group 0 if not given.
        budget: Most tokens in one pass; chosen for the device if not given.
    """
    per_row = PerRow(lm.model, edits) if len(edits) > 1 else None

    def run(batch: list[tuple[TokenPosition, int]]) -> list[tuple[Tensor, Tensor]]:
        ids, mask = lm.pad([prompt.ids[: prompt.last + 1] for prompt, _ in batch])
        rows, positions = list(range(len(batch))), [prompt.last for prompt, _ in batch]
        active = applied(lm.model, edits[0]) if per_row is None else per_row.on([group for _, group in batch])
        with active, capture(module) as seen:
            lm.run_to(module, ids, mask)
        return list(zip(seen.input[rows, positions].float(), seen.output[rows, positions].float(), strict=True))

    pairs = list(zip(prompts, groups or [0] * len(prompts), strict=True))
    results = in_batches(pairs, lambda pair: pair[0].last + 1, run, budget or default_budget(lm))
    keys, values = (torch.stack(rows).to(lm.device) for rows in zip(*results, strict=True))
    return KeyValues(keys, values)


def mean_keys(lm: LM, layer: int, facts: Sequence[Fact], templates: Sequence[str]) -> Tensor:
    """k* of every fact: the key averaged over context templates, [facts, inner] (ROME Eq. 3)."""
    prompts = [subject_position(lm, fact, template) for fact in facts for template in templates]
    return read_at(lm, lm.projection(layer), prompts).keys.reshape(len(facts), len(templates), -1).mean(1)
