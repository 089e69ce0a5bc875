"""Steps as an author wrote them, without list labels and markup: neither belongs to a step or to a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from schemas.scripts import strip_label

_PAIRED = re.compile(r"(?<![\w\\])(\*{1,3}|_{1,3}|`{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_OPEN = re.compile(r"(?:\*{2,3}|`)(?=\w)|(?<=\w)(?:\*{2,3}|`)(?!\w)|(?<!\S)\*(?=\w)")
_LINK = re.compile(r"!?\[([^\[\]]+)\]\([^()\s]*\)")
_HEADING = re.compile(r"^#{1,6}\s+")
_BULLET = re.compile(r"^(?:[-*+•·▪◦‣–—]\s+)+")
_NUMBER = re.compile(r"^(?:\(?(\d{1,2})\)|(\d{1,2})[.:])\s+(?=\S)|^\(?[a-z]\)\s+(?=\S)")
_DASH = re.compile(r"^[–—:-]\s+")


def clean_steps(steps: Sequence[str], *, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Steps without "4. ", "1) ", "- ", "**Step 1:** ", and without markdown marks around words.

    A number at the front is a label where it counts the steps, or where several steps have one; not where it begins one
    of the given names ("1. FC Köln").

    Args:
        steps: The steps, each on one line.
        names: Names of the object, which stay whole.

    Example:
        >>> clean_steps(["**Step 1:** Pack", "2) Fly to **Rome**", "- See [it](https://example.org)"])
        ('Pack', 'Fly to Rome', 'See it')
        >>> clean_steps(["4 boxes are enough", "Write 1984"])
        ('4 boxes are enough', 'Write 1984')
    """
    own = tuple(name.casefold() for name in names)
    plain = [_DASH.sub("", strip_label(_without_marks(step))) for step in steps]
    listed = sum(_label(step) is not None for step in plain) > 1
    return tuple(_without_label(step, n, own, listed=listed) for n, step in enumerate(plain, 1))


def _without_marks(step: str) -> str:
    """The step without headings, bullets, links and paired or stray marks of emphasis and code."""
    step = _BULLET.sub("", _HEADING.sub("", step.strip()))
    step = _LINK.sub(r"\1", step)
    for _ in range(3):  # marks within marks
        step, changed = _PAIRED.subn(r"\2", step)
        if not changed:
            break
    return _BULLET.sub("", _OPEN.sub("", step)).strip()


def _label(step: str) -> re.Match[str] | None:
    return _NUMBER.match(step)


def _without_label(step: str, place: int, names: tuple[str, ...], *, listed: bool) -> str:
    match = _label(step)
    if match is None or any(step.casefold().startswith(name) for name in names if _NUMBER.match(name)):
        return step
    number = match.group(1) or match.group(2)
    if listed or number == str(place):
        return strip_label(step[match.end() :])
    return step
