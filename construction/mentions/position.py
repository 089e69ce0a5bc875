"""What capitals tell at a place in a text: whether a sentence begins there, or a line gives every word a capital."""

from __future__ import annotations

import re

_BEGINS = re.compile(
    r"(?:\A|\n|[.!?:…]['\"”’)\]]*\s)[\s\"'“‘«(\[*_>•-]*"
    r"(?:[Ss]tep\s*\d+\s*[:.)-]\s*)?[\s\"'“‘«(\[*_]*\Z"
)
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_LONG = 4  # letters from which on a word of a title gets a capital in every style
_SMALL = re.compile(r"(?<=\w )(?:The|A|An|At|Of|In|On|To|And|For|With|From|By|Your)(?= \w)")  # in no plain sentence
_ENOUGH = 3  # such words must a line have, before it is taken for a title


def begins_sentence(text: str, start: int) -> bool:
    r"""Whether a sentence, a line or a step begins at a place; labels, quotation marks and brackets aside.

    Example:
        >>> begins_sentence("Go now. Square it", 8), begins_sentence("Step 2: Square it", 8)
        (True, True)
        >>> begins_sentence("Go to Square", 6)
        False
    """
    return _BEGINS.search(text[max(0, start - 40) : start] if start > 40 else text[:start]) is not None


def capitals_tell_nothing(text: str, start: int, end: int) -> bool:
    """Whether the line around a place is in capitals throughout, or gives (nearly) every longer word one.

    Example:
        >>> capitals_tell_nothing("VISIT THE TOWN SQUARE TODAY", 15, 21)
        True
        >>> capitals_tell_nothing("Visit Your Local Town Square Today", 22, 28)
        True
        >>> capitals_tell_nothing("Visit the town square with Ann Lee", 15, 21)
        False
    """
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[first : last if last >= 0 else len(text)]
    if _SMALL.search(line[: start - first] + "x" * (end - start) + line[end - first :]):
        return True
    others = [
        m.group()
        for m in _WORD.finditer(line)
        if len(m.group()) >= _LONG and not (first + m.start() < end and start < first + m.end())
    ]
    others = [w for n, w in enumerate(others) if n or not begins_sentence(line, line.find(w))]
    if len(others) < _ENOUGH:
        capitals = [c for c in line if c.isalpha()]
        return len(capitals) > end - start + _LONG and all(c.isupper() for c in capitals)
    return 4 * sum(w[0].isupper() for w in others) >= 3 * len(others)
