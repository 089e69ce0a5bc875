"""Further ways to write a name since the fourth rules: dates in another order, ae for ä, no "!"; more codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import codepoint2name

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DAY_FIRST = re.compile(rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH}),? (?P<year>\d{{3,4}})")
_MONTH_FIRST = re.compile(rf"(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{3,4}})")
_NUMBERS = re.compile(r"(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})(?:T00:00:00Z)?")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "Ø": "Oe",
                          "å": "aa", "Å": "Aa"})  # fmt: skip
_CODES = (str, "x{:X}".format, "x{:x}".format)
_SIGNS = re.compile(r"[!?\"“”„«»]")


def more_spellings(name: str) -> list[str]:
    """Other ways to write the same name; each stands for the object wherever the name does.

    Example:
        >>> more_spellings("4 May 1999")
        ['May 4, 1999', 'May 4 1999', '4th of May 1999', '4th May 1999', 'May 4th, 1999', '1999-05-04']
        >>> more_spellings("Zürich"), more_spellings("Yahoo!"), more_spellings("Lima")
        (['Zuerich'], ['Yahoo'], [])
    """
    spellings = [*_dates(name), name.translate(_UMLAUTS), " ".join(_SIGNS.sub("", name).split())]
    return [one for one in dict.fromkeys(spellings) if one != name and len(one) > 1]


def entity_spellings(name: str) -> list[str]:
    """The name with HTML entities in place of letters.

    Example:
        >>> entity_spellings("Bogotá")
        ['Bogot&aacute;', 'Bogot&#225;', 'Bogot&#xE1;', 'Bogot&#xe1;']
    """
    if name.isascii():
        return []
    named = "".join(c if c.isascii() else f"&{codepoint2name.get(ord(c), f'#{ord(c)}')};" for c in name)
    ways = [named, *("".join(c if c.isascii() else f"&#{code(ord(c))};" for c in name) for code in _CODES)]
    return list(dict.fromkeys(ways))


def _dates(name: str) -> Iterator[str]:
    match = _DAY_FIRST.fullmatch(name) or _MONTH_FIRST.fullmatch(name) or _NUMBERS.fullmatch(name)
    if match is None:
        return
    parts = match.groupdict()
    number = int(parts["number"]) if "number" in parts else _MONTHS.index(parts["month"]) + 1
    day, year = int(parts["day"]), parts["year"]
    if not (1 <= number <= len(_MONTHS) and day):
        return
    month, nth = _MONTHS[number - 1], f"{day}{_ending(day)}"
    yield from (f"{day} {month} {year}", f"{month} {day}, {year}", f"{month} {day} {year}", f"{nth} of {month} {year}")
    yield from (f"{nth} {month} {year}", f"{month} {nth}, {year}", f"{year}-{number:02d}-{day:02d}")


def _ending(day: int) -> str:
    return "th" if 10 < day % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def coded_spellings(name: str) -> list[str]:
    r"""The name in escape codes, and as its bytes look when they are read in another encoding.

    Example:
        >>> coded_spellings("Bogotá")
        ['Bogot\\u00e1', 'Bogot\\xe1', 'Bogot%C3%A1', 'BogotÃ¡']
    """
    if name.isascii():
        return []
    codes = [
        "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in name),
        "".join(c if c.isascii() else f"\\x{ord(c):02x}" for c in name) if max(map(ord, name)) < 256 else "",
        "".join(c if c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in name),
    ]
    for encoding in ("cp1252", "latin-1"):
        try:
            codes.append(name.encode().decode(encoding))
        except UnicodeDecodeError:
            continue
    return [code for code in dict.fromkeys(codes) if code and code.isprintable()]
