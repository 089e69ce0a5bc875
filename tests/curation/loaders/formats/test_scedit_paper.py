from __future__ import annotations

import pytest

from curation.loaders.formats.scedit import split_prompt

CUTS = [
    ("How?\nStep 1: Go to", "How?", "How?\nStep 1: Go to", " ", 1),
    ("How? Step 1: A Step 12: Go to ", "How?", "How? Step 1: A Step 12: Go to", " ", 12),
    ('How?\nStep 1: Type "', "How?", "How?\nStep 1: Type", ' "', 1),
    ('How?\nStep 1: Type "x"', "How?", 'How?\nStep 1: Type "x"', " ", 1),
    ("How?\nStep 1: Look\n", "How?", "How?\nStep 1: Look", "\n", 1),
    ("No steps here", "No steps here", "No steps here", " ", None),
]


@pytest.mark.parametrize(("text", "question", "before", "separator", "step"), CUTS, ids=[c[0] for c in CUTS])
def test_cut(text: str, question: str, before: str, separator: str, step: int | None) -> None:
    assert split_prompt(text) == (question, before, separator, step)
