"""Forms of a person's name: surname, given names, and words made from the surname."""

from __future__ import annotations

from typing import Literal

PersonForm = Literal["surname", "given", "made"]
_PARTICLES = frozenset(["van", "von", "der", "den", "de", "da", "di", "del", "della", "du", "dos", "le", "la", "el",
                        "al", "bin", "ibn", "ten", "ter", "zu", "af", "y"])  # fmt: skip
_SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "junior", "senior"])
_MADE = ("an", "ean", "ian", "esque", "ic", "nic", "ism", "ist", "iana")  # "Tolstoyan", "Kafkaesque", "Byronic"
_MANY = frozenset(["an", "ean", "ian", "ist"])  # those that persons are called by
_LONG_ENOUGH = 4  # letters of a surname that words are made of; "artist" has nothing to do with Mr Art


def person_forms(name: str) -> list[tuple[str, PersonForm]]:
    """Surname and given names of a person, and words made from the surname.

    Example:
        >>> person_forms("Leo Tolstoy")[:2]
        [('Tolstoy', 'surname'), ('Leo', 'given')]
        >>> ("Conan Doyle", "surname") in person_forms("Arthur Conan Doyle")
        True
        >>> ("Tolstoyan", "made") in person_forms("Leo Tolstoy")
        True
    """
    words = [w for w in name.split() if w.casefold().strip(".,") not in _SUFFIXES]
    if any(c.isdigit() for c in name) or not words:
        return []
    if len(words) < 2:
        return [(text, "made") for text in _made_of(words[0])]
    at = len(words) - 1
    while at > 1 and words[at - 1].casefold() in _PARTICLES:
        at -= 1
    surnames = [" ".join(words[at:]), words[-1].strip(",")]
    if at > 1 and words[at - 1][0].isupper() and words[at - 1][-1] != ".":
        surnames.insert(0, " ".join(words[at - 1 :]))
    forms: list[tuple[str, PersonForm]] = [
        (part[0].upper() + part[1:], "surname")
        for part in dict.fromkeys(surnames)
        if part[:1].isalpha() and len(part) > 2
    ]
    forms += [(w, "given") for w in words[:at] if len(w) > 2 and w[0].isupper() and w[-1] != "."]
    return forms + [(text, "made") for text in _made_of(words[-1].strip(","))]


def _made_of(surname: str) -> list[str]:
    """Adjectives and followers of a surname, in one and in many."""
    if len(surname) < _LONG_ENOUGH or not surname.isalpha() or not surname[0].isupper() or not surname[1:].islower():
        return []
    stems = {"e": (surname[:-1], surname), "y": (surname[:-1], surname)}.get(surname[-1], (surname,))
    words = []
    for ending in _MADE:
        for stem in stems:
            words.append(stem + ending)
            if ending in _MANY:
                words.append(stem + ending + "s")
    return [word for word in dict.fromkeys(words) if word != surname]
