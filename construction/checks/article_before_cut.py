"""An article before the cut that only one of the two objects can follow: "Become an" (actor; new: mathematician)."""

from __future__ import annotations

import re

_ARTICLE = re.compile(r"(?<![\w'’-])(?P<article>an?)[ \u00a0]*\Z", re.IGNORECASE)
_LIKE_YOU = re.compile(  # a vowel letter that sounds like "you" or "one"
    r"(?:uni(?!n|m)|us[aeiu]|ut[eio]|ub[ei]|uk|ura[nl]|ur[iu]|ufo|eu|ew|one\b|once|ouija|uganda|utah|utrecht|uruguay)",
    re.IGNORECASE,
)
_SILENT = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]{2,}\b")


def article_for(name: str) -> str | None:
    """``a`` or ``an``, as a name asks for it; None where that cannot be told: no letter, a number, an abbreviation.

    Example:
        >>> article_for("actor"), article_for("mathematician"), article_for("university"), article_for("heir")
        ('an', 'a', 'a', 'an')
        >>> article_for("NBA"), article_for("8"), article_for("herb")
        (None, None, None)
    """
    if not name[:1].isalpha() or not name[0].isascii() or _LETTERS.match(name):
        return None
    if _LIKE_YOU.match(name):
        return "a"
    if name[0] in "hH":
        return "an" if _SILENT.match(name) else None if name.casefold().startswith(("herb", "hist", "hotel")) else "a"
    return "an" if name[0].casefold() in "aeiou" else "a"


def article_before_cut(before: str, new: str) -> str | None:
    """The article at the end of a text where the other object cannot follow it; else None.

    Args:
        before: The prompt, up to the cut.
        new: The object after the change.

    Example:
        >>> article_before_cut("Become an", "mathematician"), article_before_cut("Become an", "engineer")
        ('an', None)
    """
    match = _ARTICLE.search(before)
    needed = article_for(new)
    if match is None or needed is None or match.group("article").casefold() == needed:
        return None
    return match.group("article")
