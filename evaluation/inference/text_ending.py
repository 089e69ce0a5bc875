"""When a text that grows token by token ends: at an end token, at a stop text, or for want of room.

A model that thinks first has two limits: one for its thoughts, one for its answer. Stop texts count in the answer only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.probes import ThoughtAsked
from schemas.text.thoughts import ThinkingText, split_thought

if TYPE_CHECKING:
    from evaluation.models.language_model import LM


class TextEnding(NamedTuple):
    """The text without its stop, and why it ended: ``eos``, ``stop`` or ``length``."""

    text: str
    reason: str


class GrowingText:
    """One row of new tokens; ``ended`` is called after each of them.

    Args:
        lm: The model: its tokenizer, its end tokens, the most tokens it reads.
        max_tokens: The most new tokens; of the answer, if the row may think first.
        stop: Texts at which the row, or its answer, ends.
        thought: How the row may think first: marks, and the most tokens of thoughts.
        opened: The opening mark that the prompt ends with; the text begins with it.
        prompt: Tokens of the prompt.
    """

    def __init__(
        self,
        lm: LM,
        *,
        max_tokens: int,
        stop: tuple[str, ...] = (),
        thought: ThoughtAsked | None = None,
        opened: str = "",
        prompt: int = 0,
    ) -> None:
        self._tokenizer, self._ends = lm.tokenizer, end_tokens(lm)
        self._room = None if lm.limit is None else lm.limit - prompt
        self._most, self._stop, self._asked, self._opened = max_tokens, stop, thought, opened
        self._kept = {} if thought is None else _mark_tokens(lm.tokenizer, thought)
        self._thinking, self._tail = bool(opened), len(opened)
        self._since = self._thought = 0  # tokens before the present stretch, and tokens of thoughts among them

    def ended(self, ids: Sequence[int]) -> TextEnding | None:
        """What the row has come to with these new tokens, or None if it grows on."""
        if ids[-1] in self._ends:
            return TextEnding(self.text(ids[:-1]), "eos")
        text = self.text(ids) if self._stop or self._asked is not None else ""
        begin = 0 if self._asked is None else self._answer_begins(text, len(ids))
        if self._stop and begin is not None:
            found = [at for stop in self._stop if (at := text.find(stop, begin)) >= 0]
            if found:
                return TextEnding(text[: min(found)], "stop")
        if self._is_full(len(ids)):
            return TextEnding(self.text(ids), "length")
        return None

    def text(self, ids: Sequence[int]) -> str:
        """Tokens as text; of the special ones only those that marks of thoughts are made of."""
        pieces, begin = [self._opened], 0
        for n, token in enumerate(ids):
            if token in self._kept:
                pieces += [self._plain(ids[begin:n]), self._kept[token]]
                begin = n + 1
        return "".join([*pieces, self._plain(ids[begin:])])

    def _plain(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True) if ids else ""
        return text

    def _answer_begins(self, text: str, count: int) -> int | None:
        """Where stop texts count from: after the last thought and the white space behind it; None inside a thought.

        Tokens are counted anew if the row has turned from thinking to answering or back. A closing mark without an
        opening one makes a thought of the answer before it.
        """
        assert self._asked is not None
        split: ThinkingText = split_thought(text, self._asked.marks)
        if (split.unfinished, split.tail) != (self._thinking, self._tail):
            if self._thinking or not split.unfinished:
                self._thought += count - self._since
            self._thinking, self._since, self._tail = split.unfinished, count, split.tail
        if split.unfinished:
            return None
        rest = text[split.tail :]
        return split.tail + (len(rest) - len(rest.lstrip()) if split.thought is not None else 0)

    def _is_full(self, count: int) -> bool:
        """Whether a row of so many tokens has used up what it, its thought or its answer may take."""
        if self._room is not None and count >= self._room:
            return True
        if self._asked is None:
            return count >= self._most
        stretch = count - self._since
        if self._thinking and self._thought + stretch >= self._asked.most:
            return True
        return count >= self._asked.most + self._most or (not self._thinking and stretch >= self._most)


def _mark_tokens(tokenizer: Any, asked: ThoughtAsked) -> dict[int, str]:
    """Special tokens that marks of thoughts are made of, with their texts."""
    marks = [mark for pair in asked.marks for mark in pair]
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return {
        number: token.content
        for number, token in added.items()
        if token.special and any(token.content in mark for mark in marks)
    }


def end_tokens(lm: LM) -> frozenset[int]:
    """Tokens that end a text: the tokenizer's, and those of the model's generation settings."""
    end_ids = getattr(getattr(lm.model, "generation_config", None), "eos_token_id", None)
    listed = end_ids if isinstance(end_ids, (list, tuple)) else [end_ids]
    return frozenset(i for i in (lm.tokenizer.eos_token_id, *listed) if i is not None)
