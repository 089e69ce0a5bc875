"""A question beside an event as numbers: what the scope head reads of a pair, and which events it looks at."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from curation.similarity.texts import words
from evaluation.editors.in_context.retrieval import Bm25, Vectors
from schemas.core.plain_text import fold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MEASURES = (
    "cosine",
    "cosine_below_best",
    "bm25",
    "bm25_of_best",
    "names_shared",
    "names_shared_count",
    "has_names",
)
"""What is measured of a pair beside the two vectors, their product and their difference."""
_BM25_SCALE = 20.0  # scores of questions with their own event are of this size
BUCKETS = 8192
"""Places that words are hashed to."""
_NAME = re.compile(r"\b[^\W\d_][\w'’-]*")


class Pairs(NamedTuple):
    """One question beside some events of the memory.

    Attributes:
        events: Their numbers in the memory, shape (events,).
        question: Vector of the question, shape (dimensions,).
        measures: ``MEASURES`` of each pair, shape (events, measures).
        words: Numbers of the question's words and word pairs, at most ``BUCKETS - 1``.
    """

    events: NDArray[np.int64]
    question: Floats
    measures: Floats
    words: NDArray[np.int64]


class EventMemory:
    """Events that questions are compared with.

    Args:
        texts: What happened, one an event.
        vectors: Encodes texts.
        names_apart: As ``wording``.

    Attributes:
        rows: Vectors of the events, shape (events, dimensions).
    """

    def __init__(self, texts: Sequence[str], vectors: Vectors, *, names_apart: bool = True) -> None:
        self._apart = names_apart
        self._vectors, self.rows = vectors, vectors.of(texts)
        self._bm25, self._names = Bm25(texts), [names_in(text, first=True) for text in texts]

    def expect(self, questions: Sequence[str]) -> None:
        """Encode questions that will come, in batches."""
        if questions:
            self._vectors.of(questions)

    def nearest(self, question: str, *, size: int) -> list[int]:
        """Numbers of the events nearest to a question: half of them by meaning, half by words."""
        return _shortlist(self.rows @ self._vectors.of([question])[0], self._bm25.scores(question), size)

    def pairs(self, question: str, *, size: int, also: Sequence[int] = ()) -> Pairs:
        """A question beside the events nearest to it: half of them by meaning, half by words.

        Args:
            question: The question.
            size: So many events at most.
            also: Numbers of events that are compared in any case, beside the others.
        """
        import numpy as np

        vector = self._vectors.of([question])[0]
        cosine, bm25 = self.rows @ vector, self._bm25.scores(question)
        events = np.array(list(dict.fromkeys([*also, *_shortlist(cosine, bm25, size)])), dtype=np.int64)
        names = names_in(question, first=False)
        shared = np.array([len(names & self._names[i]) for i in events], dtype=np.float32)
        best = float(bm25.max(initial=0.0))
        columns = (
            cosine[events],
            cosine[events] - cosine.max(),
            bm25[events] / _BM25_SCALE,
            bm25[events] / best if best > 0 else np.zeros(len(events)),
            shared / max(len(names), 1),
            np.minimum(shared, 4) / 4,
            np.full(len(events), float(bool(names))),
        )
        return Pairs(
            events,
            vector,
            np.stack(columns, axis=1).astype(np.float32),
            wording_features(question, names_apart=self._apart),
        )


def _shortlist(cosine: Floats, bm25: NDArray[np.float64], size: int) -> list[int]:
    """Numbers of the nearest texts, by meaning and by words in turn; no event whose words are not shared by words."""
    import numpy as np

    half = min(size, len(cosine))
    by_meaning = _largest(cosine, half)
    by_words = [i for i in _largest(bm25, half) if bm25[i] > 0]
    turns = [i for pair in zip(by_meaning, by_words, strict=False) for i in pair]
    rest = [*by_meaning[len(by_words) :], *by_words[len(by_meaning) :]]
    return list(dict.fromkeys(np.array([*turns, *rest], dtype=np.int64).tolist()))[:size]


def _largest(values: NDArray[np.floating], count: int) -> list[int]:  # type: ignore[type-arg]
    """Numbers of the greatest values, greatest first, of equals the earlier; without sorting all of them."""
    import numpy as np

    if count >= len(values):
        return np.argsort(-values, kind="stable").tolist()  # type: ignore[no-any-return]
    edge = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > edge)
    level = np.flatnonzero(values == edge)[: count - len(above)]
    chosen = np.concatenate([above, level])
    return chosen[np.lexsort((chosen, -values[chosen]))].tolist()  # type: ignore[no-any-return]


def wording_features(question: str, *, names_apart: bool) -> NDArray[np.int64]:
    """Words and word pairs of a question as numbers below ``BUCKETS``, by their checksums.

    Args:
        question: The question.
        names_apart: Names are words like others; else all of them are one word.

    Example:
        >>> rome, lima = (wording_features(f"Who leads {x}?", names_apart=False).tolist() for x in ("Rome", "Lima"))
        >>> rome == lima
        True
    """
    import numpy as np

    names = frozenset() if names_apart else names_in(question, first=False)
    single = ["<name>" if word in names else word for word in words(question)]
    both = [*single, *(f"{a} {b}" for a, b in pairwise(single))]
    return np.array([zlib.crc32(text.encode("utf-8", "surrogatepass")) % BUCKETS for text in both], dtype=np.int64)


def names_in(text: str, *, first: bool) -> frozenset[str]:
    """Words with a capital letter, folded, without a possessive's end.

    Args:
        text: Text in mixed case.
        first: Whether the text's first word counts; a question's is "Which", an event's often a name.

    Example:
        >>> sorted(names_in("Which club does Ana Roe's brother play for?", first=False))
        ['ana', 'roe']
    """
    found = _NAME.findall(text)
    return frozenset(
        fold(re.sub(r"['’]s?$", "", word)) for word in (found if first else found[1:]) if word[0].isupper()
    )
