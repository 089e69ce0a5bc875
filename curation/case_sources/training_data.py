"""What a trained method has seen: its cases' keys and subjects, so that evaluating on any of them can be refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from curation.similarity.rouge import plain_text
from curation.splits.partition import names_of
from curation.splits.split_file import cases_digest
from schemas.cases import AnyCase, Case, DocumentCase
from schemas.core.ids import text_id
from schemas.facts import Entity, Fact


class TrainingData(NamedTuple):
    """What something was learnt from: keys of cases and edits, folded names of all subjects, digest of the cases.

    ``texts`` are digests of the folded texts of events and documents: the same text under another key is the
    same edit.
    """

    name: str
    digest: str
    keys: frozenset[str]
    subjects: frozenset[str]
    texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, cases: Iterable[AnyCase]) -> TrainingData:
        """Keys and subjects of cases, their neighbours included: a neighbour is asked about too."""
        cases = tuple(cases)
        keys = {c.key for c in cases} | {key for c in cases for key, _ in _subjects(c)}
        names = (n for c in cases for _, entities in _subjects(c) for e in entities for n in names_of(e))
        texts = (text_digest(c.request.text) for c in cases if not isinstance(c, Case))
        return cls(name, cases_digest(cases), frozenset(keys), frozenset(names), frozenset(texts))

    def shares(self, case: AnyCase) -> str | None:
        """What a case has in common with it, in words, or None."""
        if case.key in self.keys:
            return f"the case '{case.key}'"
        if isinstance(case, Case):
            return next((text for fact in _facts(case) if (text := self._fact(fact))), None)
        if case.request.key in self.keys or text_digest(case.request.text) in self.texts:
            return f"the {case.request.kind} '{case.request.key}'"
        subjects = [entity for _, entities in _subjects(case) for entity in entities]
        return next((f"the subject '{e.text}'" for e in subjects if names_of(e) & self.subjects), None)

    def _fact(self, fact: Fact) -> str | None:
        if fact.key in self.keys:
            return f"the fact '{fact.key}'"
        return f"the subject '{fact.subject.text}'" if names_of(fact.subject) & self.subjects else None

    def contains(self, fact: Fact) -> bool:
        """Whether a fact, by key or subject, is among it."""
        return self._fact(fact) is not None


def text_digest(text: str) -> str:
    """Digest of a text, its case, punctuation and spaces aside."""
    return text_id("text", plain_text(text))


def _subjects(case: AnyCase) -> list[tuple[str, tuple[Entity, ...]]]:
    """Keys of what a case edits and asks about, each with the entities that it is about.

    Of an event: those that fill its template, and the subjects of its questions in scope. Of a document: its own.
    """
    if isinstance(case, DocumentCase):
        return [(case.document.key, tuple(Entity(text=name) for name in case.document.names))]
    if isinstance(case, Case):
        return [(fact.key, (fact.subject,)) for fact in _facts(case)]
    question_subjects = tuple(q.subject for q in case.facts if q.subject is not None and q.scope == "in")
    return [(case.event.key, (*(filled.entity for filled in case.event.roles), *question_subjects))]


def _facts(case: Case) -> list[Fact]:
    return [case.fact, *(n.fact for n in case.neighbours)]
