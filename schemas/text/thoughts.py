"""A text of a model that thinks first, taken apart: the thought between its marks, and the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MARKS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
)
"""Marks around thoughts that are looked for where none are named, opening and closing."""

Marks = Sequence[tuple[str, str]]


class ThinkingText(NamedTuple):
    """A text taken apart.

    Attributes:
        thought: All that was thought, a line break between several thoughts; None where there is no mark of one.
        answer: All that stands outside thoughts, a line break between several pieces; without a thought the whole text
            as it is.
        unfinished: The last thought has no end.
        tail: Place in the text at which the last piece of the answer begins, or the unfinished thought.
    """

    thought: str | None
    answer: str
    unfinished: bool
    tail: int


def split_thought(text: str, marks: Marks = MARKS) -> ThinkingText:
    """Take thoughts out of a text.

    A thought ends at the first closing mark of its pair; other marks inside are words of it, so a thought may mention
    its own opening mark. A closing mark that no thought waits for ends one whose opening mark stands in the prompt, or
    was left out by an endpoint: what stands before it, back to the end of the thought before, was thought.

    Example:
        >>> split_thought("<think>Rome? No.</think> Oslo.")[:3]
        ('Rome? No.', 'Oslo.', False)
        >>> split_thought("Rome? No.</think>Oslo.")[:3], split_thought(" Oslo.")[:3]
        (('Rome? No.', 'Oslo.', False), (None, ' Oslo.', False))
        >>> split_thought("<think>Rome? Or")[:3]
        ('Rome? Or', '', True)
    """
    closing = dict(marks)
    thoughts: list[str] = []
    answers: list[str] = []
    at, waiting = 0, ""
    for match in _pattern(tuple(marks)).finditer(text):
        mark, piece = match[0], text[at : match.start()]
        if waiting and mark != waiting:
            continue
        if not waiting and mark in closing:
            answers.append(piece)
            waiting = closing[mark]
        else:
            thoughts.append(piece)
            waiting = ""
        at = match.end()
    (thoughts if waiting else answers).append(text[at:])
    if not thoughts:
        return ThinkingText(None, text, False, 0)
    return ThinkingText(_joined(thoughts), _joined(answers), bool(waiting), at)


def opening_mark(prompt: str, marks: Marks = MARKS) -> str:
    r"""The opening mark that a prompt ends with, spaces aside (chat templates of some models open the thought).

    Example:
        >>> opening_mark("assistant\n<think>\n"), opening_mark("<think></think>")
        ('<think>', '')
    """
    end = prompt.rstrip()
    return next((start for start, _ in sorted(marks, key=lambda m: -len(m[0])) if end.endswith(start)), "")


@lru_cache(maxsize=64)
def _pattern(marks: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """Any of the marks, the longest first."""
    return re.compile("|".join(re.escape(m) for m in sorted({m for pair in marks for m in pair}, key=len)[::-1]))


def _joined(pieces: Sequence[str]) -> str:
    return "\n".join(piece.strip() for piece in pieces if piece.strip())
