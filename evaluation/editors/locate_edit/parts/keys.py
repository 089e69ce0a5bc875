"""Keys: what the MLP output projection reads at the subject's last token (ROME §3.1, step 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.editors.locate_edit.parts.context_templates import fill
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.models.tokens.tokenization import TokenPosition, encode_at
from schemas.facts import Fact


class KeyValues(NamedTuple):
    """Inputs [prompts, inner] and outputs [prompts, width] of the projection at the subjects' last tokens, float32."""

    keys: Tensor
    values: Tensor


def subject_position(lm: LM, fact: Fact, template: str = "{}") -> TokenPosition:
    """The fact prompt inside a context template as tokens, with the subject's last token."""
    before, _, _ = fact.prompt.partition("{}")
    prefix = fill(template, "")
    end = len(prefix) + len(before) + len(fact.subject.text)
    return encode_at(lm.tokenizer, prefix + fact.fact_prompt, end=end)


@torch.no_grad()
def read(lm: LM, layer: int, prompts: Sequence[TokenPosition], *, budget: TokenBudget | None = None) -> KeyValues:
    """Keys and values of a layer at the marked tokens.

    Any number of prompts, in batches of like length. Passes end at the layer, and rows end at the marked token: a
    decoder never looks ahead.
    """
    projection = lm.projection(layer)

    def run(batch: list[TokenPosition]) -> list[tuple[Tensor, Tensor]]:
        ids, mask = lm.pad([p.ids[: p.last + 1] for p in batch])
        rows, places = list(range(len(batch))), [p.last for p in batch]
        with capture(projection) as seen:
            lm.run_to(projection, ids, mask)
        pairs = zip(seen.input[rows, places].float(), seen.output[rows, places].float(), strict=True)
        return list(pairs)

    key_value_rows = in_batches(prompts, lambda p: p.last + 1, run, budget or default_budget(lm))
    return KeyValues(torch.stack([k for k, _ in key_value_rows]), torch.stack([v for _, v in key_value_rows]))


def mean_keys(lm: LM, layer: int, facts: Sequence[Fact], templates: Sequence[str]) -> Tensor:
    """k* of every fact: the key averaged over context templates, [facts, inner] (ROME Eq. 3)."""
    prompts = [subject_position(lm, fact, t) for fact in facts for t in templates]
    return read(lm, layer, prompts).keys.reshape(len(facts), len(templates), -1).mean(1)
