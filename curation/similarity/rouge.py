"""Similarity of short texts by their words: the exact measure.

Words: the text is folded (NFKD, combining marks and format characters removed, case folded); a word is a longest run of
letters, digits and underscores, and every character of a script written without spaces is a word of its own. Nothing is
stemmed, and no word is left out.

ROUGE-1 F of two texts (Lin, 2004) is the F-measure of their clipped word overlap, which is symmetric:
``2·overlap / (words(a) + words(b))``. ``curation.similarity.pairs`` measures many texts at once.
"""

from __future__ import annotations

import re
from collections import Counter

from schemas.core.plain_text import fold

_UNSPACED = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text, folded.

    Example:
        >>> words("How can I reach São Paulo, 東京?")
        ['how', 'can', 'i', 'reach', 'sao', 'paulo', '東', '京']
    """
    return _WORD.findall(fold(text))


def rouge1_f(a: str, b: str) -> float:
    """ROUGE-1 F of two texts, 0 to 1; 0 where one has no word. ``similar_pairs`` must equal it.

    Example:
        >>> round(rouge1_f("How can I visit Peru?", "How do I visit Peru?"), 3)
        0.8
    """
    left, right = Counter(words(a)), Counter(words(b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if left and right else 0.0
