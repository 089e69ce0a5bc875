"""A method for facts around which documents become facts: ``rome`` with ``simplify = "ner_qg"``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from typing_extensions import override

from evaluation.editors.base import Editor
from evaluation.edits.edit import NoEdit
from evaluation.simplify.base import Simplifier
from schemas.cases import DocumentCase
from schemas.documents.document import Document, plain_words
from schemas.documents.simplified import SimplifiedFact, StatedDocument
from schemas.facts import Entity, Object


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


NOTE = "facts"
"""Note of an edit: how many facts its documents became; 0 is an edit that changes nothing."""


KIND = "simplified"
"""Kind under which statements are kept."""


@dataclass(frozen=True)
class SimplifiedRequest:
    """A statement as methods for facts read a request; it has no old object."""

    key: str
    prompt: str
    subject: Entity
    new_object: Object

    @classmethod
    def of(cls, fact: SimplifiedFact) -> SimplifiedRequest:
        """The request of a statement with a target."""
        return cls(fact.key, fact.prompt, Entity(text=fact.subject), Object(text=fact.target))

    @property
    def fact_prompt(self) -> str:
        """The prompt with the subject filled in."""
        return self.prompt.replace("{}", self.subject.text)


class SimplifiedEditor(Editor):
    """Edits documents by the facts that they are simplified to; its name and options are those of the method.

    A document without facts is an edit that changes nothing, with the note ``facts: 0``.

    Args:
        method: A method for facts; statements are kept in its cache, by document and settings.
        simplifier: The strategy.
    """

    def __init__(self, method: Any, simplifier: Simplifier) -> None:
        self.method, self.simplifier, self._cache = method, simplifier, method.cache
        self.name, self.version, self.params = method.name, method.version, method.params  # type: ignore[misc]
        self._identity = simplifier.identity
        self._known: dict[str, tuple[SimplifiedFact, ...]] = {}

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {**self.method.components, "simplify": self._identity}

    @property
    @override
    def first_layer(self) -> int | None:
        first: int | None = self.method.first_layer
        return first

    @property
    def bytes_an_edit(self) -> int:
        """That of the method for one fact; factors of several facts stand side by side (``facts_in``)."""
        return int(self.method.bytes_an_edit)

    def facts_in(self, request: Document) -> int:
        """The document's statements: groups of as many facts as a method takes together keep pace and memory."""
        return sum(1 for statement in self.statements(request) if statement.target)

    @override
    def wants_support(self, options: Mapping[str, Any]) -> bool:  # type: ignore[override]
        return bool(self.method.wants_support(options))

    @override
    def prepare(self, support: Sequence[Any]) -> None:
        self.method.prepare(support)

    def statements(self, document: Document) -> tuple[SimplifiedFact, ...]:
        """The document's statements, those without a target among them; made once and kept."""
        if document.id not in self._known:
            key = _cache_key(self._identity, document)
            rows = self._cache.load_json(KIND, key)
            if rows is None:
                made = self.simplifier.simplify(document)
                rows = [{"subject": f.subject, "prompt": f.prompt, "target": f.target} for f in made]
                self._cache.save_json(KIND, key, rows)
            statements = (self.simplifier.statement(document, n, **row) for n, row in enumerate(rows))
            self._known[document.id] = tuple(statements)
        return self._known[document.id]

    def coverage(self, cases: Sequence[DocumentCase]) -> Coverage:
        """What the strategy leaves of these documents."""
        return coverage(cases, {case.document.key: self.statements(case.document) for case in cases})

    def _requests(self, documents: Sequence[Document]) -> list[Any]:
        return [SimplifiedRequest.of(f) for document in documents for f in self.statements(document) if f.target]

    @override
    def edit(self, requests: Sequence[Document]) -> Any:
        facts = self._requests(requests)
        return _noted(self.method.edit(facts), len(facts)) if facts else NoEdit({NOTE: 0})

    def edit_each(self, requests: Sequence[Document]) -> list[Any]:
        """Independent edits, a document each; the method makes them together where it can."""
        groups = [self._requests([document]) for document in requests]
        edits = iter(self.method.edit_groups([group for group in groups if group]))
        return [_noted(next(edits), len(group)) if group else NoEdit({NOTE: 0}) for group in groups]

    @override
    def edit_after(self, requests: Sequence[Document], earlier: Sequence[Any]) -> Any:
        facts = self._requests(requests)
        if not facts:
            return NoEdit({NOTE: 0})
        return _noted(self.method.edit_after(facts, [e for e in earlier if type(e) is not NoEdit]), len(facts))


class StatementEditor(SimplifiedEditor):
    """A method that edits documents and reads their statements beside the text (``Editor.wants_statements``)."""

    def facts_in(self, request: Document) -> int:
        """One: the method edits the text, and reads the statements beside it."""
        return 1

    def _stated(self, documents: Sequence[Document]) -> list[StatedDocument]:
        return [StatedDocument(d, tuple(fact for fact in self.statements(d) if fact.target)) for d in documents]

    def edit(self, requests: Sequence[Document]) -> Any:
        """One edit of all documents; one without facts is learnt from its text alone."""
        stated = self._stated(requests)
        return _noted(self.method.edit(stated), sum(len(one.facts) for one in stated))

    @override
    def edit_each(self, requests: Sequence[Document]) -> list[Any]:
        stated = self._stated(requests)
        return [_noted(e, len(one.facts)) for e, one in zip(self.method.edit_each(stated), stated, strict=True)]

    @override
    def edit_after(self, requests: Sequence[Document], earlier: Sequence[Any]) -> Any:
        stated = self._stated(requests)
        return _noted(self.method.edit_after(stated, earlier), sum(len(one.facts) for one in stated))


def _cache_key(identity: str, document: Document) -> dict[str, str]:
    given = [f"{s.subject}\n{s.prompt}\n{s.target}" for s in document.statements]
    return {"document": document.text, "strategy": identity, **({"statements": "\n\n".join(given)} if given else {})}


def with_simplification(method: Any, simplifier: Simplifier, documents: Sequence[Any]) -> SimplifiedEditor:
    """A method around which documents are simplified.

    Args:
        method: A method for facts.
        simplifier: The strategy.
        documents: All that are to be edited.

    Raises:
        UserError: the strategy cannot simplify them.
    """
    simplifier.check(documents)
    beside = method.wants_statements(method.params.model_dump())
    return (StatementEditor if beside else SimplifiedEditor)(method, simplifier)


def _noted(edit: Any, facts: int) -> Any:
    """An edit with the number of its facts among its notes."""
    return replace(edit, notes={**edit.notes, NOTE: facts})
