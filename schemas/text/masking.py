"""Hide a subject in a text: its names, and the words of its names that begin with a capital."""

from __future__ import annotations

import re

from schemas.facts import Entity
from schemas.text.mentions import find

MASK = "X"

_WORD = re.compile(r"\w[\w'’-]*")


def parts(entity: Entity) -> tuple[str, ...]:
    """Words of an entity's names that can stand for it: capital at the front, three letters or more.

    Example:
        >>> parts(Entity(text="Leo Tolstoy", aliases=("Count of Yasnaya Polyana",)))
        ('Leo', 'Tolstoy', 'Count', 'Yasnaya', 'Polyana')
    """
    words = [w for name in entity.names if " " in name for w in _WORD.findall(name)]
    return tuple(dict.fromkeys(w for w in words if len(w) >= 3 and w[0].isupper()))


def mask(text: str, subject: Entity, *, by: str = MASK) -> str:
    """The text with every mention of the subject replaced; a plural or possessive ending stays.

    Words of a name count only where they stand in the text with their capital: "New" of "New York" is hidden, "new" is
    not.

    Example:
        >>> mask("Who taught Leo Tolstoy? Read Tolstoy's letters.", Entity(text="Leo Tolstoy"))
        "Who taught X? Read X's letters."
    """
    places = [(m.start, m.end) for m in find(text, subject)]
    for word in parts(subject):
        for m in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            if not any(start < m.end() and m.start() < end for start, end in places):
                places.append((m.start(), m.end()))
    out, at = [], 0
    for start, end in sorted(places):
        out += [text[at:start], by]
        at = end
    return "".join(out) + text[at:]
