"""The one tokenisation: prompt, separator and target are tokenised together, places are found by character offsets.

Which token is "the first of the target" is decided by characters, never by a model's name: it is the first token that
ends after the target's first character begins. A leading space usually belongs to that token (" Paris"), as the model
saw it in training. A token may also *straddle* the boundary, that is hold a visible character from before the target
(an opening quote merged with the first letters, say). It is scored as the target's first token, since no other reading
of the joint text exists, and ``EncodedPrompt.straddles`` says so, so that such probes can be counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from evaluation.models.tokens.word_cuts import word_cuts
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


class PromptTarget(NamedTuple):
    """A prompt and a target, with what stands between them."""

    prompt: str
    target: str
    separator: str = " "

    @property
    def start(self) -> int:
        """Character at which the target begins."""
        return len(self.prompt) + len(self.separator)

    @property
    def text(self) -> str:
        """What is tokenised."""
        return self.prompt + self.separator + self.target


class _Tokens(NamedTuple):
    ids: list[int]
    spans: list[tuple[int, int]]
    specials: int


def _tokens(tokenizer: Any, text: str) -> _Tokens:
    """Tokens of a text as the tokenizer makes them by default, less the special tokens that it puts at the end."""
    out = tokenizer(text, add_special_tokens=True, return_offsets_mapping=True, return_special_tokens_mask=True)
    return _without_end(out["input_ids"], out["offset_mapping"], out["special_tokens_mask"])


def _without_end(ids: Sequence[int], spans: Sequence[tuple[int, int]], special: Sequence[int]) -> _Tokens:
    end = len(ids)
    while end and special[end - 1] and spans[end - 1][0] == spans[end - 1][1]:
        end -= 1
    front = 0
    while front < end and special[front] and spans[front][0] == spans[front][1]:
        front += 1
    return _Tokens(list(ids[:end]), list(spans[:end]), front)


def encode_target(tokenizer: Any, prompt: str, target: str, *, separator: str = " ") -> EncodedPrompt:
    """Tokenise ``prompt + separator + target`` and find the target in it.

    Raises:
        ValueError: no token belongs to the target.
    """
    one = PromptTarget(prompt, target, separator)
    encoded = _find_target(one, _tokens(tokenizer, one.text))
    if encoded is None:
        raise ValueError("no token of the text belongs to the target")
    return encoded


def encode_targets(tokenizer: Any, wanted: Sequence[PromptTarget]) -> list[EncodedPrompt | None]:
    """Many prompts and targets in a call or two of the tokenizer, which spreads them over threads; None has no token.

    Where ``word_cuts`` allows it, a prompt with several targets is tokenised once for all of them.
    """
    rests = _rests(tokenizer, wanted)
    whole = [one for one in wanted if one not in rests]
    prompts, ends = list(dict.fromkeys(one.prompt for one in rests)), list(dict.fromkeys(rests.values()))
    encodings = _encodings(tokenizer, [*prompts, *(one.text for one in whole)], special=True)
    before = dict(zip(prompts, map(_beginning, encodings[: len(prompts)]), strict=True))
    found = iter(map(_look_up_target, whole, encodings[len(prompts) :]))
    encoded_ends = _encodings(tokenizer, [one.text for one in ends], special=False)
    after = dict(zip(ends, map(_look_up_target, ends, encoded_ends), strict=True))
    return [_joined(before[one.prompt], after[rests[one]]) if one in rests else next(found) for one in wanted]


def _rests(tokenizer: Any, wanted: Sequence[PromptTarget]) -> dict[PromptTarget, PromptTarget]:
    """What follows the prompt, the space with the target, for those that are tokenised in these two parts."""
    times = Counter(one.prompt for one in wanted)
    if len(times) == len(wanted):
        return {}
    cuts = word_cuts(tokenizer)
    several = (one for one in wanted if times[one.prompt] > 1 and one.separator == " ")
    return {one: one._replace(prompt="") for one in several if cuts.allow(one.prompt, one.separator + one.target)}


def _encodings(tokenizer: Any, texts: list[str], *, special: bool) -> list[Any]:
    if not texts:
        return []
    more = {"return_attention_mask": False, "return_token_type_ids": False}
    return list(tokenizer(texts, add_special_tokens=special, **more).encodings)


class _Beginning(NamedTuple):
    ids: list[int]
    specials: int


def _beginning(encoding: Any) -> _Beginning:
    """A prompt's tokens, where none stands at the end; special tokens at the front are counted."""
    special = encoding.special_tokens_mask
    return _Beginning(encoding.ids, special.index(0) if 0 in special else len(special))


def _joined(before: _Beginning, after: EncodedPrompt | None) -> EncodedPrompt | None:
    """A prompt's tokens and, after them, those of its target with the space before it."""
    if after is None:
        return None
    return EncodedPrompt((*before.ids, *after.ids), len(before.ids) + after.first, before.specials, after.straddles)


def _look_up_target(one: PromptTarget, encoding: Any) -> EncodedPrompt | None:
    """As ``_find_target``: the tokenizer itself says which token holds the target's first character, where one does."""
    special, start = encoding.special_tokens_mask, one.start
    if special and not special[0] and not special[-1]:
        first = encoding.char_to_token(start)
        if first is not None and (not first or encoding.token_to_chars(first - 1)[1] <= start):
            begin = encoding.token_to_chars(first)[0]
            return EncodedPrompt(tuple(encoding.ids), first, 0, bool(one.text[begin:start].strip()))
    return _find_target(one, _without_end(encoding.ids, encoding.offsets, special))


def _find_target(one: PromptTarget, tokens: _Tokens) -> EncodedPrompt | None:
    start = one.start
    for i in range(tokens.specials, len(tokens.ids)):
        begin, end = tokens.spans[i]
        if end > start:
            straddles = bool(one.text[begin:start].strip())
            return EncodedPrompt(tuple(tokens.ids), i, tokens.specials, straddles)
    return None


class TokenPosition(NamedTuple):
    """A text as tokens, with the index of a subject's last token."""

    ids: tuple[int, ...]
    last: int


def encode_at(tokenizer: Any, text: str, *, end: int) -> TokenPosition:
    """Tokenise a text; ``last`` is the last token that begins before character ``end`` (the subject's end).

    Raises:
        UserError: no token lies before ``end``.
    """
    tokens = _tokens(tokenizer, text)
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
