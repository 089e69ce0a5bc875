"""When a text that grows token by token ends: at an end token, at a stop text, or for want of room.

A row is decoded whole only when it ends. Where stop texts are given, a token that cannot complete one is passed over by
a table; after any other token the last few tokens are decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evaluation.inference.thinking import MarkedDecoder, ThoughtWatch
from schemas.probes import ThoughtAsked

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

SPARE = 8
"""Tokens decoded before the place where a stop may begin: characters of several tokens, spaces that join words."""

UNFINISHED = "\ufffd"  # what decoders write for a character of which some bytes are still to come


class TextEnding(NamedTuple):
    """The text without its stop, and why it ended: ``eos``, ``stop`` or ``length``."""

    text: str
    reason: str


class DecodedToken(NamedTuple):
    """A token's text, and whether it may be part of a character: runs of such tokens are decoded as one."""

    text: str
    partial: bool


class StopCheck:
    """Says of rows whether they have ended.

    Args:
        lm: The model: its tokenizer, its end tokens, its room.
        max_tokens: The most new tokens of a row.
        stop: Texts at which a row ends.
        thought: Where rows may think first; ``max_tokens`` and ``stop`` are then those of the answer.
    """

    def __init__(
        self, lm: LM, *, max_tokens: int, stop: tuple[str, ...] = (), thought: ThoughtAsked | None = None
    ) -> None:
        self._tokenizer, self._limit, self._most = lm.tokenizer, lm.limit, max_tokens
        self._stop = stop
        self._ends = end_tokens(lm)
        self._last = {text[-1] for text in stop if text}
        self._window = max((len(text.encode()) for text in stop), default=0) + SPARE
        self._known: dict[int, DecodedToken] = {}
        self._thought = thought
        self._decoder = None if thought is None else MarkedDecoder(lm.tokenizer, thought)

    def watch(self, opened: str = "") -> ThoughtWatch | None:
        """What follows the thought of one row; None where rows do not think.

        Args:
            opened: The opening mark that the row's prompt ends with.
        """
        if self._thought is None or self._decoder is None:
            return None
        return ThoughtWatch(self._decoder, self._thought, most=self._most, stop=self._stop, opened=opened)

    def ended_watched(self, watch: ThoughtWatch, ids: Sequence[int], *, prompt: int) -> TextEnding | None:
        """What a row that may think has come to after its newest token, or None where it goes on.

        Args:
            watch: The row's own.
            ids: Its new tokens.
            prompt: Tokens before them.
        """
        if ids[-1] in self._ends:
            return TextEnding(watch.text(ids[:-1]), "eos")
        newest = self._token(ids[-1])
        if watch.may_matter(newest.text, partial=newest.partial) and (text := watch.read(ids)) is not None:
            return TextEnding(text, "stop")
        if watch.out_of_room(len(ids)) or self._is_full(ids, prompt):
            return TextEnding(watch.text(ids), "length")
        return None

    def _is_full(self, ids: Sequence[int], prompt: int) -> bool:
        return self._limit is not None and prompt + len(ids) >= self._limit

    def ended(self, ids: Sequence[int], *, prompt: int) -> TextEnding | None:
        """What a row has come to after its newest token, or None where it goes on.

        Args:
            ids: Its new tokens.
            prompt: Tokens before them.
        """
        if ids[-1] in self._ends:
            return TextEnding(self._decoded(ids[:-1]), "eos")
        if self._stop and self._may_stop(ids):
            text = self._decoded(ids)
            places = [at for stop in self._stop if (at := text.find(stop)) >= 0]
            if places:
                return TextEnding(text[: min(places)], "stop")
        if len(ids) >= self._most or self._is_full(ids, prompt):
            return TextEnding(self._decoded(ids), "length")
        return None

    def _decoded(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        return text

    def _may_stop(self, ids: Sequence[int]) -> bool:
        """Whether the newest token completes a stop, by the end of the row."""
        if not all(self._stop):
            return True  # an empty stop ends every text
        newest = self._token(ids[-1])
        if not newest.partial and not any(letter in newest.text for letter in self._last):
            return False
        end: list[int] = []
        for one in reversed(ids):
            if len(end) >= self._window and not self._token(one).partial:
                break
            if self._token(one).text:  # special ones are skipped in texts
                end.append(one)
        text = self._decoded(end[::-1])
        return any(stop in text for stop in self._stop)

    def _token(self, token: int) -> DecodedToken:
        if token not in self._known:
            text = self._decoded([token, token])  # the second one shows the space that a first word loses
            spelt = str(self._tokenizer.convert_ids_to_tokens(token))
            self._known[token] = DecodedToken(text, UNFINISHED in text or spelt.startswith("<0x"))
        return self._known[token]


def end_tokens(lm: LM) -> frozenset[int]:
    """Tokens that end a text: the tokenizer's, and those of the model's generation settings."""
    end_ids = getattr(getattr(lm.model, "generation_config", None), "eos_token_id", None)
    listed = end_ids if isinstance(end_ids, (list, tuple)) else [end_ids]
    return frozenset(i for i in (lm.tokenizer.eos_token_id, *listed) if i is not None)
