"""The form in which texts and names are compared for equality."""

from __future__ import annotations

import re
import unicodedata


def fold(text: str) -> str:
    """Compatibility forms, diacritics, format characters and case folded away.

    Example:
        >>> fold("CÔTE d'Ivoire")
        "cote d'ivoire"
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c) and unicodedata.category(c) != "Cf").casefold()


def plain_text(text: str) -> str:
    """The form in which texts are compared for equality: words and the signs + # & kept, the rest one space.

    Example:
        >>> plain_text("  The  C++ committee!"), plain_text("the C committee")
        ('the c++ committee', 'the c committee')
    """
    folded = fold(text)
    return " ".join(re.sub(r"[^\w+#&]+", " ", folded).split()) or " ".join(folded.split())
