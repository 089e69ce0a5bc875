"""Signs that stand for a currency beside a number: "$5", "5 €"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from schemas.text.mentions import Mention

_SIGNS = {  # what the sign is called; a name of the object has to hold one of the words
    "$": "dollar",
    "€": "euro",
    "£": "pound",
    "¥": "yen|yuan|renminbi",
    "₹": "rupee",
    "₽": "ruble|rouble",
    "₩": "won",
    "₺": "lira",
    "₴": "hryvnia",
    "₫": "dong",
    "₦": "naira",
    "₱": "peso",
    "฿": "baht",
    "₪": "shekel|sheqel",
    "₡": "colon",
    "₲": "guarani",
    "₸": "tenge",
    "₵": "cedi",
    "₮": "tugrik|togrog",
    "₼": "manat",
    "₾": "lari",
    "₭": "kip",
    "៛": "riel",
}
_ANY = f"[{re.escape(''.join(_SIGNS))}]"
_BESIDE_A_NUMBER = re.compile(rf"(?P<a>{_ANY})\s?\d|(?<=\d)\s?(?P<b>{_ANY})")


def money_signs(text: str, names: Iterable[str]) -> tuple[Mention, ...]:
    """Places where a sign beside a number stands for a currency of one of the names.

    Example:
        >>> [m.text for m in money_signs("Pay $5, not 5 €", ["US dollar"])], money_signs("Echo $HOME", ["dollar"])
        (['$'], ())
    """
    matches = list(_BESIDE_A_NUMBER.finditer(text))
    if not matches:
        return ()
    whole = " ".join(names).casefold()
    places = [match.span("a" if match["a"] else "b") for match in matches]
    meant = (p for p in places if re.search(rf"\b(?:{_SIGNS[text[p[0]]]})(?:e?s)?\b", whole))
    return tuple(Mention(a, b, text[a:b], text[a:b]) for a, b in meant)
