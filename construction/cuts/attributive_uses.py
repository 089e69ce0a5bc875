"""Places where the object only describes another thing: "golf widow", "a Yale hoodie", "an Italian scooter".

Before some nouns the object is meant ("a golf club", "the Bilbao train"), and another object of the relation could
stand there; a shipped table names them by what the objects are. Before any other noun the place is for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import (
    CURRENCIES,
    FIRMS,
    INSTRUMENTS,
    LANGUAGES,
    PLACES,
    SCHOOLS,
    SPORTS,
)
from curation.shipped import SHIPPED

_KINDS = (
    ("place", PLACES | frozenset(["P190", "P206", "P403"])),
    ("language", LANGUAGES),
    ("sport", SPORTS),
    ("instrument", INSTRUMENTS),
    ("currency", CURRENCIES),
    ("firm", FIRMS),
    ("school", SCHOOLS),
    ("team", frozenset(["P54"])),
    ("genre", frozenset(["P136"])),
    ("material", frozenset(["P186"])),
    ("occupation", frozenset(["P106"])),
    ("position", frozenset(["P39", "P413"])),
    ("field", frozenset(["P101"])),
    ("religion", frozenset(["P140"])),
)
_NEXT = re.compile(r"\A[ \u00a0](?P<word>(?:[a-z]|T-)[^\W\d_]*(?:-[^\W\d_]+)*)")
_HYPHEN = re.compile(  # "an Africa-shaped clock"
    r"\A-(?P<word>(?:style|fest|theme[ds]?|shaped|like|inspired|flavou?red|scented|colou?red|printed|branded|mania|"
    r"esque|obsessed|crazy|mad|loving|hating|free|sized|born|bred)\b)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(  # "what Orwell wrote", "see Seville wake up": a verb follows
    r"\b(?:where|what|how|why|that|which|if|whether|when|until|till|while|because|once|since|so|as|who|whom|than|before|after)\b|"
    r"\b(?:see|hear|watch|let|make|have|help|ask|beg|get)\s+(?:the\s+|an?\s+)?\Z",
    re.IGNORECASE,
)
_TOLD_OF = re.compile(r"\b(?:the|an?|one|every|each) [^\W\d_]+\s+\Z", re.IGNORECASE)  # "the trick Naughty Dog hid"
_COMPANION = re.compile(  # "a Spanish friend", "an actress aunt"
    r"\A[ \u00a0-](?P<word>friend|neighbou?r|colleague|cousin|uncle|aunt|girlfriend|boyfriend|flatmate|"
    r"pen ?pal|stranger|grandmother|grandfather|roommate)s?\b"
)


def attributive_use(place: CutPlace) -> str | None:
    """The noun that the object only describes; None where another object of the relation could stand there too.

    Example:
        >>> [attributive_use(CutPlace("Meet a ", "P641", after)) for after in (" widow", " lessons", " twice")]
        ['widow', None, None]
        >>> attributive_use(CutPlace("Listen how ", "P36", " wakes up"))
        >>> attributive_use(CutPlace("Buy an ", "P30", "-shaped clock"))
        'shaped'
    """
    before, relation, after, person = place
    sign = _HYPHEN.match(after) or (None if person else _COMPANION.match(after))
    if sign is not None:
        return sign.group("word")
    kind = noun_kind(relation)
    match = _NEXT.match(after)
    if kind is None or person or match is None or _CLAUSE.search(before):
        return None
    if kind == "firm" and _TOLD_OF.search(before):
        return None
    word = match.group("word")
    return None if any(one in allowed for one in _singular(word) for allowed in _allowed(kind)) else word


def noun_kind(relation: str) -> str | None:
    """What the objects of a relation are, as the shipped tables of words call it; None where they say nothing of them.

    Example:
        >>> noun_kind("P36"), noun_kind("P641"), noun_kind("P50")
        ('place', 'sport', None)
    """
    return next((name for name, relations in _KINDS if relation in relations), None)


def _allowed(kind: str) -> Iterator[frozenset[str]]:
    table = _table()
    yield from (table["on"], table["any"], table[kind])


def _singular(word: str) -> Iterator[str]:
    """The word, and what it may be the plural of; an adverb in "ly" is none of them and goes on with the step."""
    yield word
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]
    if word.endswith("ly") and len(word) > 4 and word not in ("belly", "jelly", "bully", "family"):
        yield "on"


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    """The words of each line, by its kind."""
    lines = (SHIPPED / "names/nouns_after.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split("|") for line in lines if line and not line.startswith("#"))
    return {kind.strip(): frozenset(word.strip() for word in words.split(";")) for kind, words in rows}
