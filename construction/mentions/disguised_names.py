"""Names in another dress, since the fifth rules: look-alike letters, cases of Cyrillic names, "the States".

A Latin name with a Cyrillic letter in it reads as that name, and a Russian step may have Moscow in the dative: both
give the object away, and no other object could be put there as it is.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import product

from construction.mentions.irregular_cases import irregular_cases

_LATIN_OF = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
    "\u03bf\u03b1\u03bd\u03b9\u03ba\u03c1\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "abekmhopctyxijshdqwABEKMHOPCTYXIJSoavikpuABEZHIKMNOPTYX",
)
_WORD = re.compile(r"[^\W\d_]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]+(?:[ -][\u0400-\u04ff]+)*")
_VOWELS = "аеиоуыэюяёіїє"
_ENDINGS = (  # of a word that ends so: what stands there in other cases
    (("ия",), ("ии", "ию", "ией", "иею")),
    (("ая",), ("ой", "ую", "ою")),
    (("яя",), ("ей", "юю", "ею")),
    (("а",), ("ы", "и", "е", "у", "ой", "ою", "ей")),
    (("я",), ("и", "е", "ю", "ей", "ею")),
    (("кий",), ("кого", "кому", "ким", "ком")),
    (("ый", "ой"), ("ого", "ому", "ым", "ом")),
    (("ий",), ("его", "ему", "им", "ем", "ого", "ому", "ом", "ия", "ию", "ием", "ии")),
    (("ец",), ("ца", "цу", "цом", "це")),
    (("й",), ("я", "ю", "ем", "е")),
    (("ь",), ("я", "ю", "ем", "е", "и", "ью")),
    (("ое",), ("ого", "ому", "ым", "ом")),
    (("ие",), ("ия", "ию", "ием", "ии")),
    (("о",), ("а", "у", "ом", "е")),
    (("ы",), ("ов", "ам", "ами", "ах")),
)
_OF_A_CONSONANT = ("а", "у", "ом", "ем", "е", "ым", "и", "ы")
_SHORTEST, _MOST = 3, 3  # letters of a word that has other cases; words of a name
_STATES = frozenset(["United States", "United States of America", "USA", "U.S.A.", "U.S."])


def plain_letters(text: str) -> str:
    """The text with look-alike letters written in Latin ones, in words that mix the two; of the same length.

    Example:
        >>> plain_letters("Fly to P\u0430ris") == "Fly to Paris", plain_letters("Рим")
        (True, 'Рим')
    """
    if text.isascii():
        return text
    return _WORD.sub(lambda match: _plain_word(match.group()), text)


def _plain_word(word: str) -> str:
    plain = word.translate(_LATIN_OF)
    if plain == word or not any(_is_latin(c) for c in word):
        return word
    return plain if all(_is_latin(c) for c in plain) else word


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith("LATIN")


def cases(name: str) -> list[str]:
    """A Cyrillic name in other cases, every word of it changed; nothing for other names, short ones and long ones.

    Irregular cases ("Льва" for "Лев", "Києва" for "Київ") and names with hyphens ("Ростова-на-Дону") are among them.

    Example:
        >>> cases("Москва")[:3], cases("Moskva")
        (['Москвы', 'Москви', 'Москве'], [])
        >>> "Павла" in cases("Павел")
        True
    """
    if "-" in name and (hyphenated := _cases_with_hyphens(name)):
        return hyphenated
    words = name.split(" ")
    if _CYRILLIC.fullmatch(name) is None or len(words) > _MOST or min(map(len, words)) < _SHORTEST:
        return []
    regular = [_cases_of_word(word) for word in words]
    ways = [regular]  # a word of three is regular or is not, and the others are regular then: no thousands of forms
    ways += [[*regular[:n], irregular_cases(word), *regular[n + 1 :]] for n, word in enumerate(words)]
    ways += [[irregular_cases(word) or one for word, one in zip(words, regular, strict=True)]]
    return [form for form in dict.fromkeys(" ".join(w) for way in ways for w in product(*way)) if form != name]


def _cases_with_hyphens(name: str) -> list[str]:
    """The first part changes before "на" or "над", else the last: "Ростова-на-Дону", "Санкт-Петербурга"."""
    parts = name.split("-")
    if _CYRILLIC.fullmatch(name) is None or " " in name:
        return []
    place = 0 if len(parts) == _MOST and parts[1].islower() else len(parts) - 1
    if len(parts[place]) < _SHORTEST:
        return []
    changed = [*_cases_of_word(parts[place]), *irregular_cases(parts[place])]
    unlike = [one for one in dict.fromkeys(changed) if one != parts[place]]
    return ["-".join([*parts[:place], one, *parts[place + 1 :]]) for one in unlike]


def _cases_of_word(word: str) -> list[str]:
    folded = word.casefold()
    for ends, others in _ENDINGS:
        end = next((one for one in ends if folded.endswith(one)), None)
        if end is not None:
            return [word[: -len(end)] + other for other in others]
    return [word] if folded[-1] in _VOWELS else [word + other for other in _OF_A_CONSONANT]


def bynames(name: str) -> list[str]:
    """What else people call it.

    Example:
        >>> bynames("USA"), bynames("Peru")
        (['the States'], [])
    """
    return ["the States"] if name in _STATES else []
