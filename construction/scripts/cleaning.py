"""Steps as an author wrote them, without list labels and markup: neither belongs to a step or to a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from schemas.scripts import strip_label

_HIDDEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_LINK = re.compile(r"!?\[([^\[\]]+)\]\([^()\s]*\)")
_PAIRED = re.compile(r"(?<![\w\\])(\*{1,3}|_{1,3}|`{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_TAG = re.compile(r"</?(?:a|b|i|u|s|em|strong|mark|code|span|p|li|br)(?:\s[^<>]*=[^<>]*)?\s*/?>", re.IGNORECASE)
_BULLET = re.compile(r"^(?:#{1,6}\s+|[-*+•·–—→✓✔☐☑]\s+|\[[ xX]?\]\s+)+")
_STEP = re.compile(r"^[(\[]?step\s*\d{1,2}(?:\s?(?:/|of)\s?\d{1,2})?\s?[)\]]?\s*[:.)–—-]+\s*", re.IGNORECASE)
_NUMBER = re.compile(r"^[(\[]?(?P<number>\d{1,2})[)\].:]+\s*(?=[^\W\d])")


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
    folded = tuple(name.casefold() for name in names)
    plain = [_without_marks(step) for step in steps]
    labels = [None if step.casefold().startswith(folded) else _NUMBER.match(step) for step in plain]
    several = sum(label is not None for label in labels) > 1
    return tuple(
        step[label.end() :] if label and (several or int(label["number"]) == place) else step
        for place, (step, label) in enumerate(zip(plain, labels, strict=True), 1)
    )


def _without_marks(step: str) -> str:
    """The step without hidden characters, tags, links, marks of emphasis, bullets and "Step 4:"."""
    bare, tags = _TAG.subn("", _HIDDEN.sub("", step))
    step = _LINK.sub(r"\1", re.sub(" {2,}", " ", bare) if tags else bare).strip()
    for _ in range(3):  # marks within marks
        step = _PAIRED.sub(r"\2", step)
    return strip_label(_STEP.sub("", _BULLET.sub("", step))).strip()
