"""Texts read side by side have the losses that they have alone, from the first block and from any other."""

from __future__ import annotations

import pytest

from evaluation.editors.target_texts import TargetBatch, TargetText, fact_texts, target_text
from schemas.core.errors import UserError
from tests.support.editors.edit_requests import PERU
from tests.support.tiny import make


def test_a_text_without_a_goal_has_no_loss() -> None:
    lm = make("llama")
    (text,) = fact_texts(lm, [PERU])
    assert TargetBatch(lm, [text, TargetText(text.ids, (), ())], 1).nll()[1] == 0


def test_what_the_model_cannot_read_whole() -> None:
    short = make("llama", max_position_embeddings=4)
    assert target_text(short, PERU.fact_prompt, "Oslo") is None
    with pytest.raises(UserError, match="cannot be read"):
        fact_texts(short, [PERU])
