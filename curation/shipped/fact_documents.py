"""Documents made of facts, with probes of three levels: what methods for free text learn from, offline.

Two statements with new objects become a document. Where both are about one subject, a question can take two steps (the
official language of "the country with Nairobi as its capital").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from schemas.cases import DocumentCase
from schemas.core.config import read_toml
from schemas.core.ids import canonical_json, digest, seed
from schemas.documents.document import BLANK, Document, DocumentProbe, Level, contains_words
from schemas.documents.tags import Tag
from schemas.facts import Fact, Source

WORDINGS = Path(__file__).with_name("fact_documents.toml")


class RelationQuestions(NamedTuple):
    """How a relation is asked for; see ``fact_documents.toml``."""

    ask: str
    back: str
    which: str

    def forward(self, fact: Fact, subject: str | None = None) -> str:
        """The question about a fact's subject, or about another name of it."""
        return self.ask.format(subject=subject or with_article(fact))

    def backward(self, fact: Fact) -> str:
        """The question about a fact's new object."""
        return self.back.format(object=_object(fact)).replace("the the ", "the ")

    def called(self, fact: Fact) -> str:
        """A fact's subject, called by its new object."""
        return self.which.format(object=_object(fact)).replace("the the ", "the ")


def with_article(fact: Fact) -> str:
    """The subject as it stands in a sentence: with its article, where the fact prompt has one ("the United States")."""
    return f"the {fact.subject.text}" if "the {}" in fact.prompt.casefold() else fact.subject.text


def _object(fact: Fact) -> str:
    """The new object, with the article that ends the fact prompt."""
    return f"the {fact.new_object.text}" if fact.prompt.endswith(" the") else fact.new_object.text


def documents_from_facts(facts: Iterable[Fact], wordings: Mapping[str, Any] | None = None) -> tuple[DocumentCase, ...]:
    """Documents of two facts each, with probes of three levels; every fact stands in one document at most.

    Facts about one subject come together, the rest two by two, and an odd one is left out; two facts of one relation
    are never one document, nor are facts whose new object is named by the other. Which facts meet is drawn from their
    keys.

    Args:
        facts: Those with a new object whose relation has a wording are used.
        wordings: By relation; ours where they are not given.
    """
    tables = read_toml(WORDINGS) if wordings is None else wordings
    questions = {relation: RelationQuestions(**table) for relation, table in tables.items()}
    usable = {f.key: f for f in facts if f.new is not None and f.relation.id in questions}
    order = sorted(usable.values(), key=lambda f: (seed("fact-documents", f.key), f.key))
    by_subject: dict[str, list[Fact]] = defaultdict(list)
    for fact in order:
        by_subject[fact.subject.text.casefold()].append(fact)
    pairs, rest = list[tuple[Fact, Fact]](), list[Fact]()
    for group in by_subject.values():
        group_pairs, left = _paired(group)
        pairs += group_pairs
        rest += left
    pairs += _paired(sorted(rest, key=lambda f: (seed("fact-documents", f.key), f.key)))[0]
    return tuple(_case(pair, questions) for pair in sorted(pairs, key=lambda pair: pair[0].key))


def _paired(facts: list[Fact]) -> tuple[list[tuple[Fact, Fact]], list[Fact]]:
    """Each fact with the first later one that it may stand beside, and those without one."""
    pairs, left, waiting = list[tuple[Fact, Fact]](), list[Fact](), list(facts)
    while waiting:
        first, *waiting = waiting
        other = next((f for f in waiting if _compatible(first, f)), None)
        if other is None:
            left.append(first)
        else:
            waiting.remove(other)
            pairs.append((first, other))
    return pairs, left


def _compatible(one: Fact, other: Fact) -> bool:
    if one.relation.id == other.relation.id:
        return False
    texts = (one.fact_prompt, other.fact_prompt)
    objects = (one.new_object.text, other.new_object.text)
    crossed = contains_words(texts[0], objects[1]) or contains_words(texts[1], objects[0])
    return not crossed and objects[0].casefold() != objects[1].casefold()


def _case(pair: tuple[Fact, Fact], questions: Mapping[str, RelationQuestions]) -> DocumentCase:
    key = f"fact-documents/{digest([fact.key for fact in pair])[:10]}"
    one, other = pair
    source = Source(name=f"{one.source.name}, as documents", licence=one.source.licence)
    text = " ".join(f"{fact.fact_prompt} {fact.new_object.text}." for fact in pair)
    names = dict.fromkeys((*one.subject.names, *other.subject.names))
    further = tuple(name for name in names if name != one.subject.text)
    document = Document(key=key, text=text, entity=one.subject.text, further_names=further, source=source)
    probe_parts = list[tuple[Level, str, Fact, str, tuple[Tag, ...]]]()
    for fact in pair:
        probe_parts.append((1, f"{fact.fact_prompt} {BLANK}.", fact, "object", ()))
        probe_parts.append((2, questions[fact.relation.id].forward(fact), fact, "object", ()))
        probe_parts += [(2, f"{text} {BLANK}.", fact, "object", ()) for text in fact.paraphrases[-1:]]
        probe_parts.append((3, questions[fact.relation.id].backward(fact), fact, "subject", ("reverse",)))
    if one.subject.text.casefold() == other.subject.text.casefold():
        for fact, known in ((one, other), (other, one)):
            question = questions[fact.relation.id].forward(fact, questions[known.relation.id].called(known))
            probe_parts.append((3, question, fact, "object", ("multi_hop",)))
    probes = list[DocumentProbe]()
    for level, query, fact, side, tags in probe_parts:
        answer = fact.new_object if side == "object" else fact.subject
        if contains_words(query, answer.text):
            continue
        probes.append(
            DocumentProbe(
                key=f"{key}/{len(probes) + 1}",
                document=key,
                query=query,
                answer=answer.text,
                accepted=tuple(alias for alias in answer.aliases if not contains_words(query, alias)),
                level=level,
                tags=tags,
            )
        )
    return DocumentCase(key=f"case/{key}", document=document, probes=tuple(probes))


class PoolQuestion(NamedTuple):
    """A question that a model may answer.

    Attributes:
        item: Its name in the pool.
        query: A question, or a cloze with ``___``.
        answers: All accepted spellings, the first one first.
    """

    item: str
    query: str
    answers: tuple[str, ...]


def pool_from_facts(facts: Iterable[Fact], wordings: Mapping[str, Any] | None = None) -> tuple[PoolQuestion, ...]:
    """Each fact with its old object as a cloze, and as a question where its relation has a wording.

    Where facts about one subject and relation have several old objects (a change in time), only the first is taken, so
    that no query stands twice; a query that holds its answer is left out.

    Args:
        facts: Any facts.
        wordings: Questions by relation; ours where they are not given.
    """
    tables = read_toml(WORDINGS) if wordings is None else wordings
    questions = {relation: RelationQuestions(**table) for relation, table in tables.items()}
    by_query: dict[str, PoolQuestion] = {}
    for fact in facts:
        queries = {"cloze": f"{fact.fact_prompt} {BLANK}."}
        if fact.relation.id in questions:
            queries["question"] = questions[fact.relation.id].forward(fact)
        for kind, query in queries.items():
            if not any(contains_words(query, answer) for answer in fact.old.names):
                by_query.setdefault(query, PoolQuestion(f"{fact.key}/{kind}", query, tuple(fact.old.names)))
    return tuple(by_query.values())


def pool_digest(pool: Iterable[PoolQuestion]) -> str:
    """What tells a pool from others, whatever the order of its questions."""
    return digest(sorted(canonical_json(list(question)) for question in pool))
