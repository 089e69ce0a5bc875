"""Where a text may be cut so that its tokens are those of its parts: a prompt is tokenised once for all its targets.

A byte-level BPE splits a text into words before it merges anything inside them. Its patterns take a space to the letter
that follows and end every word before it, so what stands on the two sides of a space between a word or a mark and a
letter has its tokens whatever stands on the other. Tokenising the whole text is the slow twin, which this equals.
"""

from __future__ import annotations

import json
from string import punctuation
from typing import Any
from weakref import WeakKeyDictionary

PATTERNS = {"ByteLevel", "Split", "Digits", "Sequence"}
"""Ways to split a text into words that can be tried."""

TRIALS = (
    ("The capital of Peru is", " Lima"),
    ("Step 12", " of the plan"),
    ('He said: "Yes!"', " São Tomé"),
    ("It isn't John's,", " don't you see"),
    ("a  b\n\nc - (100%)", " É"),
    ("日本 Ελλάδα Мир", " Oslo 12345"),
    ("x_", " y"),
    ("We'", " ve"),
)
"""Texts in two parts by which a tokenizer is tried."""

_CUTS: WeakKeyDictionary[Any, tuple[int, WordCuts]] = WeakKeyDictionary()


class WordCuts:
    """What is known of a tokenizer's cuts.

    Args:
        tokenizer: A fast tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        state = json.loads(tokenizer.backend_tokenizer.to_str())
        self._added = {token["content"][:1] for token in state["added_tokens"]}
        self.possible = _is_byte_level(state) and all(_is_whole(tokenizer, *trial) for trial in TRIALS)

    def allow(self, before: str, after: str) -> bool:
        """Whether a text's tokens are those of these two parts; where it is not known, no.

        Args:
            before: Its first part.
            after: The rest, with the space that it begins with.
        """
        if not self.possible or not before or after[:1] != " " or not after[1:2].isalpha():
            return False
        if not (before[-1].isalnum() or before[-1] in punctuation):
            return False
        return not any(sign in before or sign in after for sign in self._added)  # added tokens go before all words


def word_cuts(tokenizer: Any) -> WordCuts:
    """The cuts of a tokenizer, looked at once; again when tokens have been added."""
    known, size = _CUTS.get(tokenizer), tokenizer.backend_tokenizer.get_vocab_size()
    if known is None or known[0] != size:
        known = _CUTS[tokenizer] = (size, WordCuts(tokenizer))
    return known[1]


def _is_byte_level(state: dict[str, Any]) -> bool:
    """Whether a tokenizer is a BPE over bytes inside words, its text taken as it is or composed (NFC)."""
    model, normalizer, splitter = state["model"], state.get("normalizer"), state.get("pre_tokenizer")
    if model["type"] != "BPE" or model.get("dropout") or (normalizer and normalizer["type"] != "NFC") or not splitter:
        return False
    steps = {step["type"] for step in splitter.get("pretokenizers", [splitter])}
    return steps <= PATTERNS and "ByteLevel" in steps


def _is_whole(tokenizer: Any, before: str, after: str) -> bool:
    encode = tokenizer.backend_tokenizer.encode
    whole, first = encode(before + after).ids, encode(before).ids
    return bool(whole == first + encode(after, add_special_tokens=False).ids)
