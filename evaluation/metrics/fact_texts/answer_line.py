"""What a text written after a fact prompt says: which object comes first, and whether it is that and no more."""

from __future__ import annotations

from typing import NamedTuple

from evaluation.metrics.text_level.script_parser import Named, has_repetition, names
from schemas.answers import GeneratedText
from schemas.facts import Entity
from schemas.text.mentions import find

_AROUND = " \t.,;:!?\"'()[]*_\u2018\u2019\u201c\u201d"
"""Signs that may stand around an object that is the whole answer."""


class AnswerLine(NamedTuple):
    """A written answer as read.

    Attributes:
        line: Its first line that is not empty; later lines are about something else (base models go on for ever).
        first: The object that the line names first.
        mixed: The line names both objects.
        begins: The line begins with the wanted object; what follows does not count.
        exact: The line is the wanted object and no more; signs around it do not count.
        natural: The model ended the line itself, by an end token or by a new line, not the limit of tokens.
        degenerate: The text repeats itself, or is empty.
    """

    line: str
    first: Named
    mixed: bool
    begins: bool
    exact: bool
    natural: bool
    degenerate: bool


def read_answer(written: GeneratedText, wanted: Entity, other: Entity) -> AnswerLine:
    r"""A text written after a fact prompt; ``first`` is ``new`` for the wanted object, ``old`` for the other one.

    Example:
        >>> from schemas.facts import Object
        >>> told = GeneratedText(text=" Rome.\nThe capital", tokens=4, ended="length")
        >>> answer = read_answer(told, Object(text="Rome"), Object(text="Paris"))
        >>> answer.line, answer.first, answer.exact, answer.natural
        ('Rome.', 'new', True, True)
    """
    text = written.text.lstrip()
    line, more, _ = text.partition("\n")
    line = line.strip()
    named = names(line, wanted, other)
    core = line.strip(_AROUND)
    spans = [m for m in find(core, wanted, beside=[other]) if m.start == 0]
    return AnswerLine(
        line=line,
        first=named.first,
        mixed=named.mixed,
        begins=bool(spans),
        exact=any(m.end == len(core) for m in spans),
        natural=bool(more) or written.ended != "length",
        degenerate=not line or has_repetition(written.text),
    )
