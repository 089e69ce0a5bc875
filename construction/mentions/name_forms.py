"""Other forms of an object's names: from the shipped table, and by rules for persons, brackets, commas and codes.

Each form has a kind. A ``name`` stands for the object wherever the object could stand; a ``derived`` form ("Italian"
for Italy) gives the object away and is no place for it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from construction.mentions.disguised_names import bynames, cases, plain_letters
from construction.mentions.more_spellings import coded_spellings, entity_spellings, more_spellings
from construction.mentions.person_forms import person_forms
from curation.shipped import SHIPPED
from schemas.facts import Entity, Relation
from schemas.text.folding import fold

FormKind = Literal["name", "byname", "surname", "given", "derived", "kindred", "made", "escaped", "inflected"]
"""``byname``: another name altogether ("Nippon"). ``kindred``: what has the object's root and is no name ("pianist" for
piano). ``made``: made of a person's surname ("Tolstoyan"). ``escaped``: a name in escape codes. ``inflected``: in
another case of its language."""


class NameForm(NamedTuple):
    """Another form of a name, its kind, and the name that it is a form of."""

    text: str
    kind: FormKind
    of: str


class _Family(NamedTuple):
    kind: str
    names: tuple[str, ...]
    derived: tuple[str, ...]


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as one text.

    Example:
        >>> sorted(word_set("van de  van"))
        ['de', 'van']
    """
    return frozenset(text.split())


_KINDRED = frozenset(["instrument", "sport", "occupation"])
_APOSTROPHES = re.compile("[\u02bb\u02bc\u02be\u02bf\u2018\u2019'`]")
_BRACKET = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_OF = re.compile(r"^(?:the )?(?:kingdom|republic|state|commonwealth|city|province|principality) of (?:the )?", re.I)
_ORGANISATION = re.compile(
    r",?\s+(?:F\.?C\.?|A\.?F\.?C\.?|C\.?F\.?|Inc\.?|Ltd\.?|LLC|GmbH|AG|plc|S\.?A\.?|N\.?V\.?|Corp\.?|Corporation|"
    r"Company|Co\.|Group|Limited)$"
)
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_PEOPLE = word_set(  # Wikidata properties whose values are people
    "P6 P22 P25 P26 P35 P40 P50 P57 P58 P61 P84 P86 P87 P98 P110 P112 P161 P162 P169 P170 P175 P184 P185 P286 "
    "P287 P344 P371 P451 P488 P634 P655 P676 P725 P737 P802 P991 P1037 P1038 P1040 P1066 P1308 P1346 P1431 "
    "P1809 P2438 P2515 P3373 P3448 P4608 "
)
_OFFICES = re.compile(
    r"\b(?:head of|president|chief|ceo|chair|director|coach|manager of|author|writer|screenwriter|composer|lyricist|"
    r"creator|painter|sculptor|architect|designer|illustrator|founder|founded by|inventor|discoverer|spouse|father|"
    r"mother|child|sibling|teacher|student|doctoral|performer|singer|actor|cast|producer|conductor|minister|mayor|"
    r"governor|monarch|king|queen|pope|captain|presenter|leader|named after|influenced by|winner)\b",
    re.IGNORECASE,
)


def name_forms(entity: Entity, relation: Relation | None = None) -> tuple[NameForm, ...]:
    """Other forms of an entity's names, none of which is one of its names; the first kind where one is found twice.

    Args:
        entity: Whose names.
        relation: The relation it is the object of, which may say that it is a person.

    Example:
        >>> from schemas.facts import Object
        >>> [(f.text, f.kind) for f in name_forms(Object(text="Sweden"))]
        [('Sverige', 'byname'), ('Swedish', 'derived'), ('Swede', 'derived'), ('Swedes', 'derived')]
    """
    return _forms(entity.names, is_of_person(relation))


def is_of_person(relation: Relation | None) -> bool:
    """Whether the objects of a relation are persons, as its id or its label says.

    Example:
        >>> is_of_person(Relation(id="P50", label="author")), is_of_person(Relation(id="P36", label="capital"))
        (True, False)
    """
    return relation is not None and _of_a_person(relation.id, relation.label)


@lru_cache(maxsize=4096)
def _of_a_person(relation: str, label: str) -> bool:
    return relation in _PEOPLE or _OFFICES.search(label) is not None


@lru_cache(maxsize=16384)
def _forms(names: tuple[str, ...], person: bool) -> tuple[NameForm, ...]:
    plain = [form for name in names for form in _plain_forms(name)]
    plain += [NameForm(text, "name", name) for name in names for text in (more_spellings(name))]
    plain += [NameForm(plain_letters(name), "name", name) for name in names]
    forms = list(plain)
    for name in dict.fromkeys([*names, *(form.text for form in plain if form.kind == "name")]):
        forms += _of_table(name)
        forms += _of_place(name)
        if person:
            forms += [NameForm(text, kind, name) for text, kind in person_forms(name)]
        forms += [NameForm(text, "byname", name) for text in bynames(name)]
    for name in dict.fromkeys([*names, *(f.text for f in forms if f.kind == "name")]):
        forms += [NameForm(code, "escaped", name) for code in (*coded_spellings(name), *entity_spellings(name))]
    whole_names = [*names, *(form.text for form in forms if form.kind in ("name", "surname"))]
    forms += [NameForm(text, "inflected", name) for name in whole_names for text in cases(name)]
    seen = set(names)
    unique = []
    for form in sorted(forms, key=lambda f: f.kind != "name"):
        if form.text not in seen and form.text:
            seen.add(form.text)
            unique.append(form)
    return tuple(unique)


def _plain_forms(name: str) -> list[NameForm]:
    """Ways to write the same name: without article, brackets, what follows a comma, legal form, codes, apostrophes."""
    spellings = [
        name[4:] if name.casefold().startswith("the ") else "",
        _BRACKET.sub("", name),
        _OF.sub("", name),
        _ORGANISATION.sub("", name),
        _CODE.sub(lambda m: chr(int(m.group(1), 16)), name),
        _APOSTROPHES.sub("", name),
    ]
    return [NameForm(one, "name", name) for one in dict.fromkeys(spellings) if one != name and len(one) > 1]


def _of_place(name: str) -> list[NameForm]:
    """Short forms of a place with what it is a part of: "Honolulu, Hawaii" is Honolulu, "Hawaiian" gives it away."""
    head, comma, tail = name.partition(", ")
    if not comma or not (head[:1].isupper() and tail[:1].isupper()):
        return []
    forms = [NameForm(head, "name", name), *_of_table(head)]
    return forms + [form._replace(kind="derived") for form in _of_table(tail)]


def _of_table(name: str) -> list[NameForm]:
    forms = []
    for family in _index().get(_key(name), ()):
        kindred = family.kind in _KINDRED
        is_name = any(_key(n) == _key(name) for n in family.names)
        forms += [NameForm(n, _kind_of_name(n) if is_name else "derived", name) for n in family.names if n != name]
        forms += [NameForm(d, "kindred" if kindred else "derived", name) for d in family.derived if d != name]
    return forms


def _kind_of_name(name: str) -> FormKind:
    """An abbreviation stands for the name anywhere; another name does so where the name itself does not follow."""
    return "name" if name.isupper() else "byname"


def _key(name: str) -> str:
    return _APOSTROPHES.sub("", fold(name, case=False).text)


@lru_cache(maxsize=2)
def _index() -> dict[str, tuple[_Family, ...]]:
    """Families of the shipped tables by every name and derived word; kindred words lead nowhere."""
    index: dict[str, tuple[_Family, ...]] = {}
    paths = (SHIPPED / "names/forms.txt", SHIPPED / "names/further_forms.txt")
    for line in (line for path in paths for line in path.read_text(encoding="utf-8").splitlines()):
        if not line or line.startswith("#"):
            continue
        kind, names, derived = (part.strip() for part in line.split("|"))
        family = _Family(kind, _parts(names), _parts(derived))
        words = family.names if kind in _KINDRED else (*family.names, *family.derived)
        for name in dict.fromkeys(map(_key, words)):
            index[name] = (*index.get(name, ()), family)
    return index


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())
