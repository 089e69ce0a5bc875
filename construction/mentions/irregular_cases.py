"""Cases of Cyrillic words that the regular endings miss: a vowel that is dropped or changes, plurals, names in -iv."""

from __future__ import annotations

import re

_DROPPED = re.compile(r"(?P<head>.*[^аеиоуыэюяёіїєьъ])(?P<vowel>[оеё])(?P<tail>[^аеиоуыэюяёіїєьъ]ь?)", re.IGNORECASE)
_OF_A_CONSONANT = ("а", "у", "ом", "ем", "е", "и")
_OF_A_SOFT_ONE = ("я", "ю", "ем", "е", "и")
_IV = ("ова", "ову", "овом", "овым", "ові", "ові", "ева", "еву", "евом", "еві")
_YIV = ("єва", "єву", "євом", "єві")
_UKRAINIAN = ("і", "ові", "еві", "ю")  # of a consonant: "у Харкові", "Тарасові"
_PLURAL = ("", "ам", "ами", "ах", "ов", "ев", "ям", "ями", "ях", "їв", "ів")


def irregular_cases(word: str) -> list[str]:
    """Other cases of a Cyrillic word that may be irregular; too many rather than too few, as only whole words count.

    Example:
        >>> irregular_cases("Орёл")[:2], "Афин" in irregular_cases("Афины"), irregular_cases("Москва")
        (['Орла', 'Орлу'], True, [])
    """
    folded = word.casefold()
    forms: list[str] = []
    if folded.endswith("ів"):
        forms += [word[:-2] + end for end in _IV]
    elif folded.endswith("їв"):
        forms += [word[:-2] + end for end in _YIV]
    elif folded.endswith(("ы", "и", "і", "ї")):
        forms += [word[:-1] + end for end in _PLURAL]
    elif (match := _DROPPED.fullmatch(word)) is not None:
        forms += _without_vowel(match)
    elif "ё" in folded:
        forms += [word.replace("ё", "е").replace("Ё", "Е") + end for end in _OF_A_CONSONANT]
    if folded[-1] not in "аеиоуыэюяёіїєьъй" and not folded.endswith(("ів", "їв")):
        forms += [word + end for end in _UKRAINIAN]
    return list(dict.fromkeys(form for form in forms if form != word and len(form) > 2))


def _without_vowel(match: re.Match[str]) -> list[str]:
    """Forms of a word whose last vowel is dropped: "Льва", "Орла", "Павла"; those of "Пётр" keep it as another."""
    soft = match["tail"].endswith("ь")
    tail = match["tail"].rstrip("ь")
    sign = "ь" if match["head"].endswith(("л", "Л")) and match["vowel"] in "её" else ""
    stem = match["head"] + sign + tail
    return [stem + end for end in (_OF_A_SOFT_ONE if soft else _OF_A_CONSONANT)]
