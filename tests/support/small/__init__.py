"""Fifty-eight hand-written cases, as they were written, frozen and in the published shapes: tests know their texts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from curation.splits.split_file import Split, load_split

FOLDER = Path(__file__).parent
SMALL = FOLDER / "mini.jsonl"
"""The frozen split; ``source.jsonl`` beside it has the cases as they were written."""


@cache
def small_split() -> Split:
    """42 counterfactual and 16 temporal cases with four script prompts and three neighbours each."""
    return load_split(SMALL)
