"""Text folded for comparison, with the place of every folded character in the original.

Folded away: case, diacritics, compatibility forms, invisible characters, the many dashes and apostrophes. Kept: marks
that make another letter of it (the voicing of kana: Bali and Paris differ by nothing else), vowel signs of Indic and
South-East Asian scripts. What is folded together is a letter with all marks that follow it, so it does not matter
whether a text is composed (NFC), decomposed (NFD) or mixed.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u058a"), "-")
_QUOTES = dict.fromkeys(
    map(ord, "\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u2032\u05f3\u055a\ua78c\uff07\u0060\u00b4"), "'"
)
_LETTERS = dict(zip(map(ord, "łøđħŧıðæœþ"), ("l", "o", "d", "h", "t", "i", "d", "ae", "oe", "th"), strict=True))
_TABLE = {**_DASHES, **_QUOTES}
_OPTIONAL = (  # marks that are left out freely: combining diacritics, Hebrew points, Arabic vowel signs and stretching
    (0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05BD), (0x05BF, 0x05C7), (0x0610, 0x061A), (0x0640, 0x0640),
    (0x064B, 0x065F), (0x0670, 0x0670), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
)  # fmt: skip


_LONG = 20_000  # characters; few longer texts are remembered


class FoldedText(NamedTuple):
    """A folded text.

    Attributes:
        text: The folded characters.
        starts: For each of them, where its letter begins in the original; None where the places are the same.
        ends: Likewise, where the letter with its marks ends.
    """

    text: str
    starts: Sequence[int] | None
    ends: Sequence[int] | None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the original of the folded characters from ``start`` to ``end`` (end excluded)."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]

    def whole(self, start: int, end: int) -> bool:
        """Whether these folded characters are whole letters of the original (the first "s" of "ß" is not)."""
        at = self.starts
        if at is None:
            return True
        return (start == 0 or at[start - 1] != at[start]) and (end == len(at) or at[end - 1] != at[end])


def fold(text: str, *, case: bool = True) -> FoldedText:
    r"""The folded text; with ``case=False`` capitals stay.

    Example:
        >>> fold("Bogot\u00e1\u2019s \u0141\u00f3d\u017a").text
        "bogota's lodz"
        >>> fold("o\u0301x").place(0, 1)
        (0, 2)
    """
    if text.isascii():
        plain = text.replace("`", "'")
        return FoldedText(plain.lower() if case else plain, None, None)
    return _remembered(text, case) if len(text) <= _LONG else _remembered_long(text, case)


def _fold(text: str, case: bool) -> FoldedText:
    out: list[str] = []
    starts, ends = array("I"), array("I")
    at, size = 0, len(text)
    while at < size:
        end = at + 1
        while end < size and text[end] > "\x7f" and _goes_on(text[end]):
            end += 1
        folded = _letter(text[at:end] if end - at < 40 else text[at : at + 40], case)
        out.append(folded)
        for _ in folded:
            starts.append(at)
            ends.append(end)
        at = end
    return FoldedText("".join(out), starts, ends)


_remembered = lru_cache(maxsize=64)(_fold)  # one text is searched for several names in a row
_remembered_long = lru_cache(maxsize=4)(_fold)


@lru_cache(maxsize=65536)
def _goes_on(char: str) -> bool:
    """Whether a character belongs to the letter before it: marks, invisible characters, later parts of a syllable."""
    if unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf"):
        return True
    return "\u1160" <= char <= "\u11ff" or char in "\uff9e\uff9f"


def _is_optional(char: str) -> bool:
    code = ord(char)
    return unicodedata.category(char) in ("Cf", "Cs") or any(low <= code <= high for low, high in _OPTIONAL)


@lru_cache(maxsize=65536)
def _letter(letter: str, case: bool) -> str:
    for _ in range(4):  # until folding changes nothing more; twice is the rule
        plain = unicodedata.normalize("NFKD", letter.translate(_TABLE)).translate(_TABLE)
        plain = "".join(c for c in plain if not _is_optional(c))
        plain = plain.casefold().translate(_LETTERS) if case else plain
        plain = unicodedata.normalize("NFC", plain)
        if plain == letter:
            break
        letter = plain
    return letter
