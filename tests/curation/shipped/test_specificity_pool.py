"""The shipped specificity pool: every fact as a cloze and as a question."""

from __future__ import annotations

from collections import Counter

from curation.loaders import load
from curation.shipped.fact_documents import pool_digest, pool_from_facts
from schemas.documents.document import BLANK, contains_words

FACTS = load("shipped").require()
POOL = pool_from_facts(FACTS)


def test_every_fact_is_asked_for_twice_and_no_query_holds_its_answer() -> None:
    assert Counter(q.item.rpartition("/")[2] for q in POOL) == {"cloze": 835, "question": 835}
    assert len({q.item for q in POOL}) == len({q.query for q in POOL}) == 1670
    assert not [q.query for q in POOL for answer in q.answers if contains_words(q.query, answer)]
    assert all((BLANK in q.query) == q.item.endswith("/cloze") for q in POOL)


def test_the_old_object_is_the_answer_with_its_aliases() -> None:
    by_item = {q.item: q for q in POOL}
    capital = by_item["facts/cf/P36/france/question"]
    assert capital.query == "Which city is the capital of France?" and capital.answers == ("Paris", "City of Light")
    assert by_item["facts/cf/P36/france/cloze"].query == "The capital of France is ___."


def test_a_pools_digest_is_that_of_its_questions_in_any_order() -> None:
    assert pool_digest(POOL) == pool_digest(POOL[::-1]) != pool_digest(POOL[1:])
    assert pool_from_facts(FACTS, {}) == tuple(q for q in POOL if q.item.endswith("/cloze"))
