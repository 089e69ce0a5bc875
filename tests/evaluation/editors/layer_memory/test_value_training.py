"""Values learnt side by side are those learnt alone; ends are read as the model reads them."""

from __future__ import annotations

import pytest
import torch

from evaluation.editors.layer_memory.value_training import read_ends
from evaluation.editors.target_texts import fact_texts
from evaluation.edits.edit import WeightEdit
from evaluation.models.hooks import capture
from tests.evaluation.edits.test_routed_deltas import codebook
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.facts import peru_fact
from tests.support.tiny import make

FACTS = [PERU, NORWAY, peru_fact("f/long", prompt="It is said by many people in the north that {} lies in")]


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_ends_are_those_of_whole_passes(kind: str) -> None:
    lm = make(kind)
    lines, module = fact_texts(lm, FACTS), lm.projection(1)
    with WeightEdit((codebook(lm, PERU.fact_prompt),)).on(lm):
        ends = read_ends(lm, 1, module, lines)  # an edit in force has no part in it
    for one, end in zip(lines, ends, strict=True):
        with capture(module) as seen, torch.no_grad():
            lm.model(torch.tensor([one.ids]))
        assert torch.allclose(end.key, seen.input[0, one.end], atol=1e-5)
        assert torch.allclose(end.output, seen.output[0, one.end], atol=1e-5)
