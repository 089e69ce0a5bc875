"""Pools of questions that specificity sets are drawn from: the shipped facts, or a file of questions and answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from curation.loaders import load
from curation.loaders.base import Problem
from curation.loaders.reading.json_reader import rows
from curation.shipped.specificity_pool import PoolQuestion, pool_from_facts
from schemas.core.errors import DataError
from schemas.documents.document import contains_words
from schemas.facts import Source

SHIPPED = "shipped"
_SHAPE = "a query (or question), its answers (or answer), and an item (or id, question_id) that names it"


class Pool(NamedTuple):
    """Questions that a model may answer, and where they come from."""

    questions: tuple[PoolQuestion, ...]
    source: Source


def open_pool(name: str, *, licence: str = "not stated") -> Pool:
    """The pool of a name.

    Args:
        name: ``shipped`` (each shipped fact as a cloze and as a question), or a file of JSON lines or a JSON array,
            such as the rows of TriviaQA (``question``, ``question_id``, ``answer`` with ``value`` and ``aliases``).
        licence: Of a file's questions.

    Raises:
        UserError: no such file.
        DataError: a row is no question with answers, or two have one name.
    """
    if name == SHIPPED:
        facts = load(SHIPPED).require()
        return Pool(pool_from_facts(facts), Source(name="ScEdit shipped facts", licence="CC0-1.0"))
    path = Path(name)
    questions = tuple(question for row in rows(path) if (question := _question(row)) is not None)
    names = [question.item for question in questions]
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError(f"the question '{twice}' is there twice", where=name, fix="give every question its own item")
    if not questions:
        raise DataError("the pool holds no question that a model could be asked", where=name, allowed=_SHAPE)
    return Pool(questions, Source(name=path.name, licence=licence))


def _question(row: Any) -> PoolQuestion | None:
    """A row as a question; None where every answer stands in the query, which then asks for nothing."""
    if isinstance(row, Problem):
        raise DataError(f"not a question: {row.what}", where=row.where, allowed=_SHAPE)
    data: Mapping[str, Any] = row.data
    query = _first(data, "query", "question")
    item = _first(data, "item", "question_id", "id")
    answers = _answers(_first(data, "answers", "answer"))
    if not isinstance(query, str) or not query.strip() or item is None or not answers:
        raise DataError("not a question with answers and a name", where=row.where, allowed=_SHAPE)
    query = query.strip()
    kept = tuple(answer for answer in answers if not contains_words(query, answer))
    return PoolQuestion("_".join(str(item).split()), query, kept) if kept else None


def _first(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _answers(value: Any) -> tuple[str, ...]:
    """All accepted answers, the main one first, none twice."""
    if isinstance(value, Mapping):  # TriviaQA: {"value": ..., "aliases": [...]}
        value = [value.get("value"), *(value.get("aliases") or ())]
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(t.strip() for t in texts if isinstance(t, str) and t.strip()))
