"""The shipped specificity pool: every shipped fact as a cloze and as a question; which a model answers, it decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from curation.shipped.fact_documents import WORDINGS, RelationQuestions
from schemas.core.config import read_toml
from schemas.core.ids import canonical_json, digest
from schemas.documents.document import BLANK, contains_words
from schemas.facts import Fact


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
