"""Which prompts have beginnings that rows can share."""

from __future__ import annotations

from dataclasses import replace

from evaluation.inference.passes import can_share
from tests.support.tiny import make


def test_nothing_is_shared_near_a_sliding_window() -> None:
    lm = make("mistral")  # its window is 16 tokens
    assert can_share(lm, 8) and not can_share(lm, 9)
    assert can_share(make("llama"), 90)
    lm.layout = replace(lm.layout, positions=False)
    assert not can_share(lm, 8)
