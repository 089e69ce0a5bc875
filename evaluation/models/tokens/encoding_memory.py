"""Prompts with their targets as tokens, each tokenised once: all methods of a run ask the same prompts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from evaluation.models.tokens.tokenization import EncodedPrompt, PromptTarget, encode_targets

ROOM = 2**23
"""Tokens remembered at most, with 8 bytes each: prompts and targets of some 2,800 cases."""

MISSING = "no token of the text belongs to the target"


class EncodingMemory:
    """What a tokenizer made of prompts and targets; the oldest go when room runs out.

    ``evaluation.models.tokens.tokenization.encode_target`` is the slow twin, which this equals.

    Args:
        tokenizer: A fast tokenizer.
        room: Tokens kept at most.
    """

    def __init__(self, tokenizer: Any, *, room: int = ROOM) -> None:
        self._tokenizer, self._room, self._taken = tokenizer, room, 0
        self._encodings: OrderedDict[PromptTarget, EncodedPrompt | None] = OrderedDict()
        self._texts: OrderedDict[tuple[str, bool], tuple[int, ...]] = OrderedDict()
        self._numbers: dict[int, int] = {}

    def add(self, wanted: Iterable[PromptTarget]) -> None:
        """Tokenise in one batch what is not known yet; what does not fit beside it is asked again when it is wanted."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._encodings]
        for one, encoded in zip(missing, encode_targets(self._tokenizer, missing), strict=True):
            self._keep(one, encoded)

    def encode(self, prompt: str, target: str, *, separator: str = " ") -> EncodedPrompt:
        """As ``encode_target``.

        Raises:
            ValueError: no token belongs to the target.
        """
        one = PromptTarget(prompt, target, separator)
        if one in self._encodings:
            self._encodings.move_to_end(one)
            encoded = self._encodings[one]
        else:
            (encoded,) = encode_targets(self._tokenizer, [one])
            self._keep(one, encoded)
        if encoded is None:
            raise ValueError(MISSING)
        return encoded

    def texts(self, texts: Sequence[str], *, special: bool = True) -> list[tuple[int, ...]]:
        """Whole texts as tokens, those not yet known in one batch.

        Args:
            texts: In any order, repeated or not.
            special: Let the tokenizer add its special tokens.
        """
        missing = [text for text in dict.fromkeys(texts) if (text, special) not in self._texts]
        fresh: dict[str, tuple[int, ...]] = {}
        if missing:
            token_ids = self._tokenizer(missing, add_special_tokens=special)["input_ids"]
            fresh = {text: self._shared(ids) for text, ids in zip(missing, token_ids, strict=True)}
        out = [fresh[text] if text in fresh else self._texts[text, special] for text in texts]
        for text, ids in fresh.items():
            if len(ids) <= self._room:
                self._make_room(len(ids))
                self._texts[text, special] = ids
                self._taken += len(ids)
        return out

    def _shared(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Equal numbers as one object: eight bytes a token instead of forty."""
        return tuple(map(self._numbers.setdefault, ids, ids))

    def _make_room(self, size: int) -> None:
        while self._taken + size > self._room:
            store: Any = self._encodings or self._texts
            _, old = store.popitem(last=False)
            self._taken -= len(old) if store is self._texts else _size(old)

    def _keep(self, one: PromptTarget, encoded: EncodedPrompt | None) -> None:
        size = _size(encoded)
        if size > self._room:
            return
        self._make_room(size)
        self._encodings[one] = None if encoded is None else encoded._replace(ids=self._shared(encoded.ids))
        self._taken += size


def _size(encoded: EncodedPrompt | None) -> int:
    return 1 if encoded is None else len(encoded.ids)
