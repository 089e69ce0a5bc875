"""Similarity of short texts by their words: the exact measure.

Words: the text is folded (NFKD, combining marks and format characters removed, case folded); a word is a longest run of
letters, digits and underscores, and every character of a script written without spaces is a word of its own. Nothing is
stemmed, and no word is left out.

ROUGE-1 F of two texts (Lin, 2004) is the F-measure of their clipped word overlap, which is symmetric:
``2·overlap / (words(a) + words(b))``. ``curation.similarity.pairs`` measures many texts at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_UNSPACED = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


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


def words(text: str) -> list[str]:
    """The words of a text, folded.

    Example:
        >>> words("How can I reach São Paulo, 東京?")
        ['how', 'can', 'i', 'reach', 'sao', 'paulo', '東', '京']
    """
    return _WORD.findall(fold(text))


def plain_text(text: str) -> str:
    """The form in which texts are compared for equality: words and the signs + # & kept, the rest one space.

    Example:
        >>> plain_text("  The  C++ committee!"), plain_text("the C committee")
        ('the c++ committee', 'the c committee')
    """
    folded = fold(text)
    return " ".join(re.sub(r"[^\w+#&]+", " ", folded).split()) or " ".join(folded.split())


def rouge1_f(a: str, b: str) -> float:
    """ROUGE-1 F of two texts, 0 to 1; 0 where one has no word. ``similar_pairs`` must equal it.

    Example:
        >>> round(rouge1_f("How can I visit Peru?", "How do I visit Peru?"), 3)
        0.8
    """
    left, right = Counter(words(a)), Counter(words(b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if left and right else 0.0
