"""Case ids of ScEdit files: what the key of a fact tells of one, and the extra that says the rest."""

from __future__ import annotations

import re
from typing import Any

from schemas.core.ids import canonical_json
from schemas.extras import CASE_ID, Extra

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_FALLBACK = re.compile(r"[0-9]+(-of-file)+")


def number_of(text: str) -> int | None:
    """The number that the last part of a key is; None where it is none.

    Example:
        >>> number_of("12"), number_of("007"), number_of("3-of-file")
        (12, None, None)
    """
    return int(text) if _NUMBER.fullmatch(text) else None


def id_of(text: str) -> int | str | None:
    """The case id that the last part of a key tells; None where it may be no id, or part of one.

    Example:
        >>> id_of("12"), id_of("007"), id_of("3-of-file"), id_of("a/b")
        (12, '007', None, None)
    """
    if "/" in text or _FALLBACK.fullmatch(text):
        return None
    number = number_of(text)
    return text if number is None else number


def fallback(place: int, taken: set[str]) -> str:
    """The last part of the key of a record whose id another one has, or cannot stand in a key.

    Args:
        place: Number of the record in its file, from 0.
        taken: Last parts of keys so far.

    Example:
        >>> fallback(3, set()), fallback(3, {"3-of-file"})
        ('3-of-file', '3-of-file-of-file')
    """
    text = f"{place}-of-file"
    while text in taken:
        text += "-of-file"
    return text


def case_id_extra(key: str, text: str, case_id: Any) -> Extra | None:
    """What the last part of a fact's key does not tell of its case id (a number as text, a fraction, null, a space).

    Example:
        >>> case_id_extra("scedit-cf/17", "17", "17").value, case_id_extra("scedit-cf/17", "17", 17)
        ('17', None)
    """
    told = id_of(text)
    if told is not None and canonical_json(told) == canonical_json(case_id):
        return None
    return Extra.holding(f"{key}/extra/case-id", case_id, subject_key=key, name=CASE_ID)
