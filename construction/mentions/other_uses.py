"""Words in lower case that are an object at one place and something else at another: "pay in won", "who won"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from curation.shipped import SHIPPED

_VERBS = "verbs"  # the line with words that are what to do at the front of a step
_ARTICLES = {  # what nobody says before a genre, a sport, a field of work
    "P136": re.compile(r"\b(?:an?|the|your|his|her|their|every|each|another|two|three|some) \Z", re.IGNORECASE),
    "P641": re.compile(r"\b(?:an?|your|his|her|their|every|each|another|two|three) \Z", re.IGNORECASE),
    "P101": re.compile(r"\b(?:an?|every|each|another|two|three) \Z", re.IGNORECASE),
}
_NO_NOUN_AFTER = re.compile(
    r"\A(?:\Z|\n|\s*[.,;:!?)]|\s(?:for|in|on|at|with|from|to|of|by|and|or|near|under|over|into|onto|until|before|after|"
    r"behind|beside|away|back|home|out|up|down|off|again|first|twice|once|well|slowly|gently|there|here)\b)"
)
_NEAR = 40  # characters that are looked at on either side


class _Use(NamedTuple):
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None


def other_use(text: str, start: int, end: int, *, begins: bool) -> bool:
    """Whether a word in lower case, or at the front of a step, is rather something else here than the object.

    Args:
        text: The text.
        start: Where the word begins.
        end: Where it ends.
        begins: Whether a sentence begins with it.

    Example:
        >>> other_use("See who won", 8, 11, begins=False), other_use("Pay in won", 7, 10, begins=False)
        (True, False)
    """
    verbs, uses = _table()
    word = text[start:end].casefold()
    if begins and word in verbs and re.match(r"[ \u00a0]\w", text[end : end + 2]):
        return True
    use = uses.get(word)
    if use is None:
        return False
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    return bool((use.before and use.before.search(before)) or (use.after and use.after.match(after)))


def counted_thing(text: str, start: int, end: int, relation: str) -> bool:
    """Whether a word in lower case is a thing here that can be counted, and no genre or sport, which nobody counts.

    Example:
        >>> counted_thing("Fetch a rock for the door", 8, 12, "P136"), counted_thing("Play rock", 5, 9, "P136")
        (True, False)
        >>> counted_thing("Hire a rock band", 7, 11, "P136"), counted_thing("Sing the blues", 9, 14, "P136")
        (False, False)
    """
    article = _ARTICLES.get(relation)
    if article is None or text[end - 1 : end] == "s" or not text[start:end].islower():
        return False
    return bool(article.search(text, 0, start) and _NO_NOUN_AFTER.match(text[end:]))


@lru_cache(maxsize=1)
def _table() -> tuple[frozenset[str], dict[str, _Use]]:
    """The verbs, and what stands beside each word where it is something else; from the shipped table."""
    verbs: frozenset[str] = frozenset()
    uses = {}
    for line in (SHIPPED / "names/other_uses.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        word, before, after = (part.strip() for part in line.split("|"))
        if word == _VERBS:
            verbs = frozenset(_parts(before))
            continue
        left, right = ("|".join(map(re.escape, _parts(text))) for text in (before, after))
        uses[word] = _Use(
            re.compile(rf"(?<!\w)(?:{left})[ \u00a0]+\Z", re.IGNORECASE) if left else None,
            re.compile(rf"\A[ \u00a0]*(?:{right})(?!\w)", re.IGNORECASE) if right else None,
        )
    return verbs, uses


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]
