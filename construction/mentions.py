"""Where an object is mentioned: its names, other names for it, and words that point to it ("Italian" for Italy).

Names and aliases of the fact are found by ``schemas.text.mentions``. Other names come from a shipped table, from the
name itself (without "the", brackets, legal form, what follows a comma) and, for a person, from the surname.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from curation.shipped import SHIPPED
from schemas.facts import Entity, Relation
from schemas.text.folding import fold
from schemas.text.mentions import Mention, find

_PERSON = re.compile(
    r"\b(?:head of|president|chief|ceo|chair|director|coach|manager of|author|writer|screenwriter|composer|lyricist|"
    r"creator|painter|sculptor|architect|designer|illustrator|founder|founded by|inventor|discoverer|spouse|father|"
    r"mother|child|sibling|teacher|student|doctoral|performer|singer|actor|cast|producer|conductor|minister|mayor|"
    r"governor|monarch|king|queen|pope|captain|presenter|leader|named after|influenced by)\b",
    re.IGNORECASE,
)
_AROUND = re.compile(  # what a name is written with and without
    r"\Athe |\s*[(\[][^()\[\]]*[)\]]\s*\Z|,?\s+(?:F\.?C\.?|Inc\.?|Ltd\.?|LLC|GmbH|AG|plc|S\.?A\.?|Corp\.?|"
    r"Corporation|Company|Co\.|Group)\Z",
    re.IGNORECASE,
)
_PARTICLES = frozenset(["van", "von", "der", "den", "de", "da", "di", "del", "della", "du", "dos", "la", "bin", "ibn"])
_SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "junior", "senior"])
_SHORTEST = 3  # letters of a surname
_OF_A_FIELD = frozenset(["instrument", "sport", "occupation"])  # kinds whose derived words name nothing else


class ObjectMention(NamedTuple):
    """A place where an object is, or seems to be, mentioned.

    Attributes:
        mention: The place and the name that was found there.
        fits: Whether the object itself could stand there; a word that is derived from its name only points to it.
        doubt: Why another word may be meant; empty where nothing speaks for that.
    """

    mention: Mention
    fits: bool = True
    doubt: str = ""


class OtherNames(NamedTuple):
    """What else an entity is called, and words derived from its names."""

    names: tuple[str, ...]
    derived: tuple[str, ...]


def find_object(
    text: str, entity: Entity, *, beside: Iterable[Entity | None] = (), relation: Relation | None = None
) -> tuple[ObjectMention, ...]:
    """All places where an object is or seems to be mentioned, in order, none overlapping.

    A name of one word that has a capital may be another word where it has none ("turkey"): there it is in doubt, and
    another name or a derived word is no mention.

    Args:
        text: Where to look.
        entity: The object.
        beside: Others who may be meant; what is only part of a longer mention of one of them is theirs.
        relation: The relation it is the object of; its label may say that the object is a person.

    Example:
        >>> from schemas.facts import Object
        >>> [(m.mention.text, m.fits) for m in find_object("Take a Swedish ship to Sverige", Object(text="Sweden"))]
        [('Swedish', False), ('Sverige', True)]
        >>> [m.doubt for m in find_object("Roast the turkey", Object(text="Turkey"))]
        ["'turkey' has no capital, Turkey has one"]
    """
    more = other_names(entity, relation)
    whole = entity.model_copy(update={"aliases": (*entity.aliases, *more.names, *more.derived)})
    mentions = []
    for mention in find(text, whole, beside=beside):
        doubt = _lost_capital(mention)
        if mention.name in entity.names:
            mentions.append(ObjectMention(mention, doubt=doubt))
        elif not doubt:
            mentions.append(ObjectMention(mention, fits=mention.name in more.names))
    return tuple(mentions)


def _lost_capital(mention: Mention) -> str:
    """What speaks against a mention without capitals of a name of one word; empty where nothing does."""
    name, text = mention.name, mention.text
    if " " in name or name == name.lower() or text != text.lower():
        return ""
    return f"'{text}' has no capital, {name} has one"


def other_names(entity: Entity, relation: Relation | None = None) -> OtherNames:
    """Other names of an entity, and words derived from its names; none is one of its own names.

    Example:
        >>> from schemas.facts import Object
        >>> other_names(Object(text="Sweden"))
        OtherNames(names=('Sverige',), derived=('Swedish', 'Swede', 'Swedes'))
        >>> other_names(Object(text="Leo Tolstoy"), Relation(id="P50", label="author")).names
        ('Tolstoy',)
    """
    return _other_names(entity.names, relation is not None and _PERSON.search(relation.label) is not None)


@lru_cache(maxsize=16384)
def _other_names(own: tuple[str, ...], person: bool) -> OtherNames:
    plain = [short for name in own for short in _short_names(name)]
    names, derived = [*plain], list[str]()
    for name in (*own, *plain):
        for family in _families().get(fold(name, case=False).text, ()):
            named = any(fold(one, case=False).text == fold(name, case=False).text for one in family.names)
            names += family.names if named else ()
            derived += family.derived if named else (*family.names, *family.derived)
    if person:
        names += [surname for name in own for surname in _surnames(name)]
    known = set(own)
    names = [name for name in dict.fromkeys(names) if name not in known]
    return OtherNames(tuple(names), tuple(w for w in dict.fromkeys(derived) if w not in known.union(names)))


def _short_names(name: str) -> list[str]:
    """A name without what it may be written without: "Netherlands", "Honolulu" of "Honolulu, Hawaii"."""
    head, comma, tail = name.partition(", ")
    places = [head] if comma and head[:1].isupper() and tail[:1].isupper() else []
    return [short for short in (_AROUND.sub("", name), *places) if len(short) > 1 and short != name]


def _surnames(name: str) -> list[str]:
    """The surname of a person's name of several words, with its particles and without.

    Example:
        >>> _surnames("Ludwig van Beethoven"), _surnames("Sammy Davis Jr."), _surnames("Pelé")
        (['van Beethoven', 'Beethoven'], ['Davis'], [])
    """
    words = [w.strip(",") for w in name.split() if w.casefold().strip(".,") not in _SUFFIXES]
    if len(words) < 2 or any(c.isdigit() for c in name):
        return []
    at = len(words) - 1
    while at > 1 and words[at - 1].casefold() in _PARTICLES:
        at -= 1
    surnames = dict.fromkeys([" ".join(words[at:]), words[-1]])
    return [surname for surname in surnames if surname[0].isalpha() and len(surname) >= _SHORTEST]


@lru_cache(maxsize=1)
def _families() -> dict[str, tuple[OtherNames, ...]]:
    """Families of the shipped table by each of their words; what is derived from a field leads nowhere."""
    families: defaultdict[str, tuple[OtherNames, ...]] = defaultdict(tuple)
    for line in (SHIPPED / "names.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, *parts = line.split("|")
            names, derived = (tuple(word.strip() for word in part.split(";") if word.strip()) for part in parts)
            for word in names if kind.strip() in _OF_A_FIELD else (*names, *derived):
                families[fold(word, case=False).text] += (OtherNames(names, derived),)
    return dict(families)
