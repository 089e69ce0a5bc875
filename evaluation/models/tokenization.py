"""The one tokenisation: prompt, separator and target are tokenised together, places are found by character offsets.

Which token is "the first of the target" is decided by characters, never by a model's name: it is the first token that
ends after the target's first character begins. A leading space usually belongs to that token (" Paris"), as the model
saw it in training. A token may also *straddle* the boundary, that is hold a visible character from before the target
(an opening quote merged with the first letters, say). It is scored as the target's first token, since no other reading
of the joint text exists, and ``EncodedPrompt.straddles`` says so, so that such probes can be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.core.errors import UserError


class EncodedPrompt(NamedTuple):
    """A prompt with its target as tokens.

    Attributes:
        ids: Token ids, special tokens at the front included, none at the end.
        first: Index in ``ids`` of the target's first token.
        specials: Number of special tokens at the front.
        straddles: Whether the target's first token also holds a visible character from before the target.
    """

    ids: tuple[int, ...]
    first: int
    specials: int
    straddles: bool

    @property
    def target(self) -> tuple[int, ...]:
        """Ids of the target's tokens."""
        return self.ids[self.first :]


class Tokens(NamedTuple):
    """Tokens with the characters of each, and the number of special ones at the front."""

    ids: list[int]
    spans: list[tuple[int, int]]
    specials: int


def tokens_of(tokenizer: Any, text: str, *, add_special: bool = True) -> Tokens:
    """Tokens of a text as the tokenizer makes them by default, less the special tokens that it puts at the end."""
    out = tokenizer(text, add_special_tokens=add_special, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, spans, special = out["input_ids"], out["offset_mapping"], out["special_tokens_mask"]
    end = len(ids)
    while end and special[end - 1] and spans[end - 1][0] == spans[end - 1][1]:
        end -= 1
    front = 0
    while front < end and special[front] and spans[front][0] == spans[front][1]:
        front += 1
    return Tokens(list(ids[:end]), list(spans[:end]), front)


def encode_target(
    tokenizer: Any, prompt: str, target: str, *, separator: str = " ", special: bool = True
) -> EncodedPrompt:
    """Tokenise ``prompt + separator + target`` and find the target in it.

    ``special`` lets the tokenizer add its special tokens: not for a prompt that a chat template has made.

    Raises:
        ValueError: no token belongs to the target.
    """
    text, start = prompt + separator + target, len(prompt) + len(separator)
    tokens = tokens_of(tokenizer, text, add_special=special)
    for i in range(tokens.specials, len(tokens.ids)):
        begin, end = tokens.spans[i]
        if end > start:
            straddles = bool(text[begin:start].strip())
            return EncodedPrompt(tuple(tokens.ids), i, tokens.specials, straddles)
    raise ValueError("no token of the text belongs to the target")


class TokenPosition(NamedTuple):
    """A text as tokens, with the index of a subject's last token."""

    ids: tuple[int, ...]
    last: int


def encode_at(tokenizer: Any, text: str, *, end: int, special: bool = True) -> TokenPosition:
    """Tokenise a text; ``last`` is the last token that begins before character ``end`` (the subject's end).

    ``special`` as for ``encode_target``.

    Raises:
        UserError: no token lies before ``end``.
    """
    tokens = tokens_of(tokenizer, text, add_special=special)
    before = [i for i in range(tokens.specials, len(tokens.ids)) if tokens.spans[i][0] < end <= len(text)]
    if not before:
        raise UserError("no token of the subject is found in the prompt", where=repr(text))
    return TokenPosition(tuple(tokens.ids), before[-1])


def common_prefix(rows: Sequence[tuple[int, ...]]) -> int:
    """Number of leading items that all rows share.

    Example:
        >>> common_prefix([(1, 2, 3), (1, 2, 4), (1, 2)])
        2
    """
    low, high = min(rows), max(rows)
    shared, past = 0, min(len(low), len(high)) + 1
    while past - shared > 1:  # parts are compared as a whole, not item by item
        middle = (shared + past) // 2
        shared, past = (middle, past) if low[shared:middle] == high[shared:middle] else (shared, middle)
    return shared
