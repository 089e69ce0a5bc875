"""Names that are common words too: is "square" Square here, or the word?

Case decides, for names that are on the shipped list of common words only: "paris" in lower case is still Paris.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from construction.mentions.other_uses import other_use
from construction.mentions.position import begins_sentence, capitals_tell_nothing
from curation.shipped import SHIPPED

_DETERMINER = re.compile(
    r"\s+(?:the|an?|your|my|our|its|his|her|their|this|that|these|those|all|each|every|both|some|any|it|them|him|us|me|"
    r"yourself|up|down|out|off|away|through|into|onto|over)\b(?!\s*[-'’])"
)
_VERB_BEFORE = re.compile(r"\b(?:to|can|will|must|should|please|not|then|and|or)\s+\Z", re.IGNORECASE)


class Reading(NamedTuple):
    """What a place is taken for: the ``name``, another ``word``, or ``unsure``; and why, where it is not the name."""

    label: Literal["name", "word", "unsure"]
    why: str = ""


_NAME = Reading("name")


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """The shipped lists, in lower case."""
    paths = (SHIPPED / "names/common_words.txt", SHIPPED / "names/everyday_words.txt")
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def is_common(name: str) -> bool:
    """Whether every word of a name is on the list, as it stands or without a plural's "s".

    Example:
        >>> is_common("Square"), is_common("White House"), is_common("Paris")
        (True, True, False)
    """
    words = re.findall(r"[^\W\d_]+", name.casefold())
    known = common_words()
    return bool(words) and all(_is_listed(word, known) for word in words)


def _is_listed(word: str, known: frozenset[str]) -> bool:
    return word in known or (len(word) > 4 and word.endswith("s") and word[:-1] in known)


def read_spelling(text: str, start: int, end: int, name: str) -> Reading:
    """Whether a place that is spelt like a name stands for it.

    Args:
        text: The text, with its lines.
        start: Where the place begins.
        end: Where it ends.
        name: The name it is spelt like, case aside.

    Example:
        >>> read_spelling("Meet at the town square", 17, 23, "Square").label
        'word'
        >>> read_spelling("Sign up with Square", 13, 19, "Square").label
        'name'
        >>> read_spelling("Square headquarters open late", 0, 6, "Square").label
        'unsure'
    """
    place = text[start:end]
    verb = _DETERMINER.match(text, end) is not None
    first = begins_sentence(text, start)
    if not name[:1].isupper():
        if verb and (first or _VERB_BEFORE.search(text[:start])) and is_common(name):
            return Reading("word", f"'{place}' is a verb here")
        if other_use(text, start, end, begins=first):
            if not first:
                return Reading("word", f"'{place}' is another word here than {name}")
            return Reading("unsure", f"'{place}' may be another word here than {name}")
        return _NAME
    if place == name and not first and not capitals_tell_nothing(text, start, end):
        return _NAME
    if not is_common(name):
        return _NAME
    if place[:1].islower():
        return _read_lower_case(place, name)
    if len(place) > 1 and place.isupper() and not _all_capitals(text, start, end):
        return _NAME
    if capitals_tell_nothing(text, start, end):
        return Reading("unsure", f"'{place}' may be the common word: this line is written in capitals")
    if first:
        return _read_first_word(text, end, place, name, verb=verb)
    return _NAME


def _all_capitals(text: str, start: int, end: int) -> bool:
    """Whether the rest of the line is in capitals too."""
    rest = text[text.rfind("\n", 0, start) + 1 : start] + text[end:].partition("\n")[0]
    return not any(c.islower() for c in rest)


def _read_lower_case(place: str, name: str) -> Reading:
    if " " in name:
        return Reading("unsure", f"'{place}' is written without capitals and may not be {name}")
    return Reading("word", f"'{place}' is a common word, {name} has a capital")


def _read_first_word(text: str, end: int, place: str, name: str, *, verb: bool) -> Reading:
    """A place that begins a sentence, where every word has a capital."""
    if verb:
        return Reading("word", f"'{place}' is a verb here")
    if re.match(r"['’]s\b", text[end : end + 3]):
        return _NAME
    if " " in name and place == name:
        return _NAME
    return Reading("unsure", f"'{place}' begins the sentence and may be the common word or {name}")
