"""Texts read side by side have the losses that they have alone, from the first block and from any other."""

from __future__ import annotations

import pytest
import torch

from evaluation.editors.target_texts import TargetBatch, TargetText, fact_texts, target_text
from schemas.core.errors import UserError
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.facts import peru_fact
from tests.support.tiny import make

LONG = peru_fact("f/long", prompt="It is said by many people in the north that {} lies in")


@pytest.mark.parametrize("layer", [None, 0, 2])
@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
def test_losses_are_those_of_whole_passes(kind: str, layer: int | None) -> None:
    lm = make(kind)
    texts = fact_texts(lm, [PERU, NORWAY, LONG])
    batch = TargetBatch(lm, texts, layer)
    for text, loss in zip(texts, batch.nll(), strict=True):
        with torch.no_grad():
            whole = lm.model(torch.tensor([text.ids])).logits[0].float().log_softmax(-1)
        assert float(loss) == pytest.approx(-float(whole[list(text.positions), list(text.goals)].mean()), abs=1e-4)
    assert torch.allclose(batch.select([2, 0]).nll(), batch.nll()[[2, 0]], atol=1e-5)


def test_a_text_holds_prompt_and_object() -> None:
    lm = make("llama")
    (text,) = fact_texts(lm, [PERU])
    assert lm.tokenizer.decode(text.goals).strip() == PERU.new_object.text
    assert lm.tokenizer.decode(text.ids[: text.end + 1], skip_special_tokens=True) == PERU.fact_prompt


def test_a_text_without_a_goal_has_no_loss() -> None:
    lm = make("llama")
    (text,) = fact_texts(lm, [PERU])
    assert TargetBatch(lm, [text, TargetText(text.ids, (), ())], 1).nll()[1] == 0


def test_what_the_model_cannot_read_whole() -> None:
    short = make("llama", max_position_embeddings=4)
    assert target_text(short, PERU.fact_prompt, "Oslo") is None
    with pytest.raises(UserError, match="cannot be read"):
        fact_texts(short, [PERU])
