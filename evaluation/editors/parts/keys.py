"""Keys: what the MLP output projection reads at the subject's last token (ROME §3.1, step 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.editors.parts.templates import fill
from evaluation.hooks import reading
from evaluation.lm import LM
from evaluation.tokens import Placed, encode_at
from schemas.facts import Fact


class KeyValues(NamedTuple):
    """Inputs [prompts, inner] and outputs [prompts, width] of the projection at the subjects' last tokens, float32."""

    keys: Tensor
    values: Tensor


def subject_place(lm: LM, fact: Fact, template: str = "{}") -> Placed:
    """The fact prompt inside a context template as tokens, with the subject's last token."""
    before, _, _ = fact.prompt.partition("{}")
    prefix = fill(template, "")
    end = len(prefix) + len(before) + len(fact.subject.text)
    return encode_at(lm.tokenizer, prefix + fact.fact_prompt, end=end)


@torch.no_grad()
def read(lm: LM, layer: int, prompts: Sequence[Placed]) -> KeyValues:
    """Keys and values of a layer at the marked tokens; the forward pass ends at the layer."""
    ids, mask = lm.pad([p.ids for p in prompts])
    rows, places = list(range(len(prompts))), [p.last for p in prompts]
    with reading(lm.projection(layer)) as seen:
        lm.run_to(lm.projection(layer), ids, mask)
    return KeyValues(seen.input[rows, places].float(), seen.output[rows, places].float())


def mean_key(lm: LM, layer: int, fact: Fact, templates: Sequence[str]) -> Tensor:
    """k*: the key averaged over context templates, [inner] (ROME Eq. 3)."""
    return read(lm, layer, [subject_place(lm, fact, t) for t in templates]).keys.mean(0)
