"""Rows of a model that thinks first, as they grow: whether they think or answer, and what each may take of tokens.

A row is decoded whole only after a token that may complete a mark or a stop; between two of them nothing changes but
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.probes import ThoughtAsked
from schemas.text.thoughts import ThinkingText, split_thought


class MarkedDecoder:
    """Decodes tokens with the special ones that marks of thoughts are made of, and without all others.

    Args:
        tokenizer: The model's.
        asked: The marks.
    """

    def __init__(self, tokenizer: Any, asked: ThoughtAsked) -> None:
        self._tokenizer = tokenizer
        marks = [mark for pair in asked.marks for mark in pair]
        added = getattr(tokenizer, "added_tokens_decoder", {})
        self.kept = {
            number: token.content
            for number, token in added.items()
            if token.special and any(token.content in mark for mark in marks)
        }

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens; the pieces between kept special tokens are decoded each by itself."""
        if not any(token in self.kept for token in ids):
            return self._plain(ids)
        pieces, begin = [], 0
        for place, token in enumerate(ids):
            if token in self.kept:
                pieces += [self._plain(ids[begin:place]), self.kept[token]]
                begin = place + 1
        return "".join([*pieces, self._plain(ids[begin:])])

    def _plain(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True) if ids else ""
        return text


class RowState(NamedTuple):
    """Where a row stands: thinking or answering since its token ``since``; tokens of thoughts before; the last tail."""

    thinking: bool = False
    since: int = 0
    thought: int = 0
    tail: int = 0


class ThoughtWatch:
    """Says of one row whether it has ended.

    Stops count in the answer only, white space after a thought aside. The tokens of thoughts and those of the answer
    have a limit each; the answer's counts from the last thought's end, and both together end any row.

    Args:
        decoder: Decodes with the marks.
        asked: The marks, and the most tokens of thoughts.
        most: The most tokens of the answer.
        stop: Texts at which the answer ends.
        opened: The opening mark that the prompt ends with; the text begins with it.
    """

    def __init__(
        self, decoder: MarkedDecoder, asked: ThoughtAsked, *, most: int, stop: tuple[str, ...], opened: str = ""
    ) -> None:
        self._decoder, self._asked, self._most, self._stop, self._opened = decoder, asked, most, stop, opened
        self._marks_end = frozenset(mark[-1] for pair in asked.marks for mark in pair)
        self._stops_end = frozenset(text[-1] for text in stop if text)
        self._always = not all(stop)
        self._state = RowState(thinking=bool(opened), tail=len(opened))

    def text(self, ids: Sequence[int]) -> str:
        """What the row has written, its marks among it."""
        return self._opened + self._decoder.decode(ids)

    def may_matter(self, newest: str, *, partial: bool) -> bool:
        """Whether a token with this text can complete a mark, or a stop where stops count."""
        if partial or not newest or any(letter in newest for letter in self._marks_end):
            return True
        return not self._state.thinking and (self._always or any(letter in newest for letter in self._stops_end))

    def read(self, ids: Sequence[int]) -> str | None:
        """Decode the whole row; its text up to the stop that the answer has come to, None where there is none."""
        text = self.text(ids)
        split = split_thought(text, self._asked.marks)
        self._note(split, len(ids))
        if split.unfinished or not self._stop:
            return None
        begin = split.tail
        if split.thought is not None:
            begin += len(text[begin:]) - len(text[begin:].lstrip())
        places = [at for stop in self._stop if (at := text.find(stop, begin)) >= 0]
        return text[: min(places)] if places else None

    def out_of_room(self, count: int) -> bool:
        """Whether a row of so many tokens has used up what its thought or its answer may take."""
        state = self._state
        in_stretch = count - state.since
        if state.thinking and state.thought + in_stretch >= self._asked.most:
            return True
        return count >= self._asked.most + self._most or (not state.thinking and in_stretch >= self._most)

    def _note(self, split: ThinkingText, count: int) -> None:
        """Take over what the whole text says; a stretch begins where the row turns from thinking to answering or back.

        A closing mark without an opening one makes a thought of the answer before it.
        """
        state = self._state
        if split.unfinished == state.thinking and split.tail == state.tail:
            return
        ended = state.thinking or not split.unfinished
        thought = state.thought + (count - state.since if ended else 0)
        self._state = RowState(split.unfinished, count, thought, split.tail)
