"""Places that lead to nothing in particular: "think of ...", "write ... below", "avoid the ferry from ..."."""

from __future__ import annotations

import re

_LANGUAGES = frozenset(["P37", "P103", "P364", "P407", "P1412", "P2936"])
_ANYTHING = re.compile(  # what may be thought of, or said and written with nothing before it, is any word at all
    r"(?:\b(?:(?:think|thinking|dream|dreaming) (?:of|about)|(?:imagine|remember)s?|imagining|remembering|"
    r"forget(?:ting)?(?: about)?)|\A(?:mention|say|shout|whisper|chant|spell|print|type|write)(?: down)?)"
    r"[\s\"'“‘„«:(]*\Z",
    re.IGNORECASE,
)
_SPOKEN = re.compile(r"\b(?:say|writ|typ|read|spell|print|whisper|shout|chant)\w*\W*\Z", re.IGNORECASE)
_AWAY = re.compile(  # away from the object, or anywhere else
    r"(?:\b(?:avoid(?:s|ing)?|ignor(?:e|es|ing)|skip(?:s|ping)?|without|except(?: for)?|instead of|rather than|"
    r"other than|anywhere but)|(?:\bnot|\bnever|n[’']t)(?! (?:miss|forget)\b))\b[^.;!?]*\Z",
    re.IGNORECASE,
)


def open_place(before: str, relation: str = "") -> str | None:
    """The words that make a place one where any object may follow, or none; None where there are no such words.

    Args:
        before: The step up to the object.
        relation: Id of the relation: a language may well be written or said.

    Example:
        >>> open_place("Think of "), open_place("Write "), open_place("As the city, write ")
        ('Think of', 'Write', None)
        >>> open_place("Avoid the ferry from ")
        'Avoid the ferry from'
        >>> open_place("Write ", "P37") is None
        True
    """
    match = _AWAY.search(before) or _ANYTHING.search(before)
    if match is None or (relation in _LANGUAGES and _SPOKEN.search(before)):
        return None
    return match.group().strip(" \t\"'“‘„«:(")
