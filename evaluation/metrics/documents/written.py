"""Written answers of document probes against all that are accepted: equal words, and overlap of words."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar

from evaluation.metrics.base import Answers, row
from evaluation.metrics.documents.base import Better, DocumentMetric, NotKnownBefore
from evaluation.metrics.documents.probes import written_probe
from evaluation.metrics.pooled import PooledMean
from schemas.answers import ItemScore
from schemas.documents.document import DocumentProbe, plain_words
from schemas.probes import Probe

_ARTICLES = re.compile(r"\b(a|an|the)\b")


def answer_words(text: str) -> list[str]:
    """The words of an answer; case, accents, punctuation and English articles are folded away.

    Example:
        >>> answer_words("The Orla Bridge."), answer_words("an '80s hit")
        (['orla', 'bridge'], ['80s', 'hit'])
    """
    return _ARTICLES.sub(" ", plain_words(text)).split()


def compared_words(said: str, right: str) -> tuple[list[str], list[str]]:
    """The words of two answers; articles and signs count where the right one holds nothing else, as in blood group A.

    Example:
        >>> compared_words("The bridge.", "a bridge"), compared_words(" A.", "A"), compared_words("", "+")
        ((['bridge'], ['bridge']), (['a'], ['a']), ([], ['+']))
    """
    if theirs := answer_words(right):
        return answer_words(said), theirs
    if theirs := plain_words(right).split():
        return plain_words(said).split(), theirs
    return said.casefold().split(), right.casefold().split()


def overlap(said: str, right: str) -> float:
    """F1 of the words of two answers (as SQuAD's): 1 for the same words, 0 for none in common.

    Example:
        >>> round(overlap("Ada Brun of Rovo", "Ada Brun"), 3), overlap("Rovo", "Ada Brun"), overlap("", "A")
        (0.667, 0.0, 0.0)
    """
    mine, theirs = map(Counter, compared_words(said, right))
    if not mine:
        return 0.0
    common = (mine & theirs).total()
    return 2 * common / (mine.total() + theirs.total())


class WrittenMatch(DocumentMetric, PooledMean):
    """Is what the model writes up to the end of its line an accepted answer?"""

    name: ClassVar[str] = "em_text"
    title: ClassVar[str] = "Written EM"
    about: ClassVar[str] = "Share of probes whose written answer is an accepted one; case, articles, punctuation aside"
    better: ClassVar[Better] = "higher"

    def probe_of(self, probe: DocumentProbe) -> Probe:
        """Ask for a text."""
        return written_probe(probe, self.choice)

    def value(self, probe: DocumentProbe, after: Answers, before: Answers) -> ItemScore | None:
        """The written answer against all accepted ones: the best counts."""
        text_probe = written_probe(probe, self.choice)
        answer = after.get(text_probe.id)
        if answer is None or answer.written is None:
            why = "no answer" if answer is None else answer.error or "no text"
            return ItemScore(probe=text_probe.id, item=probe.key, value=None, reason=why)
        first_line = answer.written.text.partition("\n")[0]
        return ItemScore(
            probe=text_probe.id, item=probe.key, value=max(self.likeness(first_line, a) for a in probe.answers)
        )

    def likeness(self, said: str, right: str) -> float:
        """1 where the words are the same, else 0."""
        mine, theirs = compared_words(said, right)
        return float(mine == theirs)


class WrittenOverlap(WrittenMatch):
    """How many words of the written answer and the best accepted one are the same?"""

    name: ClassVar[str] = "f1"
    title: ClassVar[str] = "F1"
    about: ClassVar[str] = "Overlap of words (F1) of the written answer with the best accepted one"

    def likeness(self, said: str, right: str) -> float:
        """F1 of the words."""
        return overlap(said, right)


# The same of level 1, where it is literal as its definition says.
WrittenMatchLiteral = row(
    WrittenMatch,
    name="em_text_1_literal",
    title="Written EM, level 1, literal",
    about="Written EM of level-1 probes that stand in their document word for word",
    level=1,
    literal=True,
)


WrittenMatchNew = row(
    NotKnownBefore,
    WrittenMatch,
    name="em_text_new",
    title="Written EM, not known before",
    about="Written EM of probes to which the unedited model writes no accepted answer",
    unedited=0.0,
)


# The same of level 1, where it is literal as its definition says.
WrittenOverlapLiteral = row(
    WrittenOverlap,
    name="f1_1_literal",
    title="F1, level 1, literal",
    about="F1 of level-1 probes that stand in their document word for word",
    level=1,
    literal=True,
)


WrittenOverlapNew = row(
    NotKnownBefore,
    WrittenOverlap,
    name="f1_new",
    title="F1, not known before",
    about="F1 of probes to which the unedited model writes no accepted answer",
)
