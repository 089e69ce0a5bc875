"""What a trained method has seen: its cases' keys and subjects, so that evaluating on any of them can be refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from curation.splits.partition import names_of
from curation.splits.split_file import cases_digest
from schemas.cases import Case
from schemas.facts import Fact


class TrainingData(NamedTuple):
    """What something was learnt from: keys of cases and facts, folded names of all subjects, digest of the cases."""

    name: str
    digest: str
    keys: frozenset[str]
    subjects: frozenset[str]

    @classmethod
    def of(cls, name: str, cases: Iterable[Case]) -> TrainingData:
        """Keys and subjects of cases, their neighbours included: a neighbour is asked about too."""
        cases = tuple(cases)
        facts = [f for c in cases for f in _facts(c)]
        keys = frozenset(c.key for c in cases) | {f.key for f in facts}
        return cls(name, cases_digest(cases), keys, frozenset(n for f in facts for n in names_of(f.subject)))

    def shares(self, case: Case) -> str | None:
        """What a case has in common with it, in words, or None."""
        if case.key in self.keys:
            return f"the case '{case.key}'"
        return next((text for fact in _facts(case) if (text := self._fact(fact))), None)

    def _fact(self, fact: Fact) -> str | None:
        if fact.key in self.keys:
            return f"the fact '{fact.key}'"
        return f"the subject '{fact.subject.text}'" if names_of(fact.subject) & self.subjects else None

    def contains(self, fact: Fact) -> bool:
        """Whether a fact, by key or subject, is among it."""
        return self._fact(fact) is not None


def _facts(case: Case) -> list[Fact]:
    return [case.fact, *(n.fact for n in case.neighbours)]
