"""Rare ways to label a step, written as the common ones: "(4). ", "4.) ", "No. 4: ", "S4: ", "step-4: ", "4th: "."""

from __future__ import annotations

import re
import unicodedata

HIDDEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Characters that nobody sees: soft hyphens, spaces without width, marks that turn the direction of writing."""

_NUMBERS = "one|two|three|four|five|six|seven|eight|nine"
_NAMED = re.compile(
    r"^[(\[]?(?:step|task|phase|stage|action|part|item|point|move|instruction|number|no|nr|s)[\s._#-]*"
    rf"(?P<number>\d{{1,2}}|{_NUMBERS})(?P<count>\s?(?:/|of|out of)\s?\d{{1,2}})?\s?[)\]]?\s*[:.)–—-]+\s+(?=\S)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"^(?P<number>\d{1,2})(?:st|nd|rd|th)(?: step)?\s?[:.)–—-]\s+(?=\S)", re.IGNORECASE)
_SIGNS = re.compile(r"^[(\[{]?(?P<number>\d{1,2})(?:[)\]}.:]{2,3}\s*|[、．：﹒｡。]\s*)(?=\S)")
_ROMAN = re.compile(r"^(?P<number>ii|iii|iv|v|vi|vii|viii|ix)\s[–—-]\s(?=\S)")
_WIDE = re.compile(r"^[(（［]?[０-９]{1,2}\s?[)）］.．、:：]")
_MATHS = re.compile(r"(?<!\S)\$(?=[^\W\d_])([^$]*[^\W\d_])\$(?!\w)")


def plain_label(step: str) -> str:
    """A step without hidden characters and TeX dollars; a rare label is written as "Step 4: " or "4. ".

    Example:
        >>> plain_label("(4). Fly home"), plain_label("No. 4: Fly home")
        ('4. Fly home', 'Step 4: Fly home')
        >>> plain_label("No 4 tram goes there"), plain_label("4th Street is near")
        ('No 4 tram goes there', '4th Street is near')
    """
    step = HIDDEN.sub("", step).strip()
    wide = _WIDE.match(step)
    if wide is not None:
        step = unicodedata.normalize("NFKC", wide.group()).replace("、", ".") + " " + step[wide.end() :].lstrip()
    step = _MATHS.sub(r"\1", step)
    step = _NAMED.sub(lambda m: f"Step {m.group('number')}{m.group('count') or ''}: ", step, count=1)
    step = _ROMAN.sub(r"\g<number>) ", step, count=1)
    return _SIGNS.sub(r"\g<number>. ", _COUNTED.sub(r"\g<number>. ", step, count=1), count=1)
