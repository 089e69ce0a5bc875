"""What a simplification leaves of documents: an upper bound of what a method for facts can learn from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.cases import DocumentCase
from schemas.documents.document import plain_words
from schemas.documents.simplified import SimplifiedFact


class Coverage(NamedTuple):
    """Counts over documents.

    Attributes:
        documents: All of them.
        without: Those without a fact, which are left unedited.
        facts: Statements with a target.
        empty: Statements without one.
        duplicates: Facts that a document has a second time.
        ambiguous: Documents with one filled prompt and several targets.
        target_in_prompt: Facts whose target's letters stand in their prompt, case and punctuation aside.
        probes: All probes.
        answers: Those an accepted answer of which is a target of their document.
    """

    documents: int
    without: int
    facts: int
    empty: int
    duplicates: int
    ambiguous: int
    target_in_prompt: int
    probes: int
    answers: int


def coverage(cases: Sequence[DocumentCase], statements: Mapping[str, Sequence[SimplifiedFact]]) -> Coverage:
    """Count over documents.

    Args:
        cases: The documents with their probes.
        statements: Of every document, by its key.
    """
    facts = {c.document.key: [f for f in statements.get(c.document.key, ()) if f.target] for c in cases}
    every = [fact for some in facts.values() for fact in some]
    repeats = [Counter((f.filled_prompt, f.target) for f in some) for some in facts.values()]
    targets = {key: {plain_words(f.target) for f in some} for key, some in facts.items()}
    return Coverage(
        documents=len(cases),
        without=sum(not some for some in facts.values()),
        facts=len(every),
        empty=sum(len(statements.get(key, ())) for key in facts) - len(every),
        duplicates=sum(count - 1 for repeat in repeats for count in repeat.values()),
        ambiguous=sum(
            len({f.filled_prompt for f in some}) < len({(f.filled_prompt, f.target) for f in some})
            for some in facts.values()
        ),
        target_in_prompt=sum(plain_words(fact.target) in plain_words(fact.filled_prompt) for fact in every),
        probes=sum(len(c.probes) for c in cases),
        answers=sum(
            any(plain_words(answer) in targets[c.document.key] for answer in p.answers) for c in cases for p in c.probes
        ),
    )
