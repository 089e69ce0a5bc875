"""What is measured of a question beside an event, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.editors.routed.pairs import MEASURES, EventMemory, names_in
from tests.support.evaluation.routed_events import HashedVectors

TEXTS = ["Ana Roe left Rome for Oslo.", "Oslo has a new mayor.", "Lima raised its taxes.", "Rain fell."]


def test_names_are_words_with_a_capital_but_a_questions_first() -> None:
    assert names_in("Where does Ana Roe's club play?", first=False) == {"ana", "roe"}
    assert names_in("Łódź grew.", first=True) == names_in("In Łódź", first=False) != frozenset()
    assert names_in("", first=True) == names_in("who?", first=False) == frozenset()


def test_measures_of_a_pair() -> None:
    memory = EventMemory(TEXTS, HashedVectors())
    pairs = memory.pairs("Where does Ana Roe live in Oslo?", size=4)
    assert set(pairs.events.tolist()) == {0, 1, 2, 3} and pairs.measures.shape == (4, len(MEASURES))
    rows = dict(zip(pairs.events.tolist(), pairs.measures, strict=True))
    first = dict(zip(MEASURES, rows[0], strict=True))
    assert first["names_shared"] == 1.0 and first["names_shared_count"] == pytest.approx(3 / 4)
    assert first["bm25_of_best"] == 1.0 and first["has_names"] == 1.0
    second = dict(zip(MEASURES, rows[1], strict=True))
    assert second["names_shared"] == pytest.approx(1 / 3) and 0 < second["bm25_of_best"] < 1
    assert dict(zip(MEASURES, rows[3], strict=True))["bm25"] == 0.0
    best = max(row[MEASURES.index("cosine")] for row in rows.values())
    for row in rows.values():
        assert row[1] == pytest.approx(row[0] - best, abs=1e-6)


def test_a_shortlist_holds_the_nearest_by_words_and_by_meaning_and_what_must_be_compared() -> None:
    texts = [f"Town{n} has a new mayor." for n in range(300)]
    memory = EventMemory(texts, HashedVectors())
    memories = memory.pairs("Who is mayor of Town217?", size=6)
    assert len(memories.events) == 6 and 217 in memories.events.tolist()
    also = memory.pairs("Who is mayor of Town217?", size=6, also=[299, 217])
    assert also.events.tolist()[:2] == [299, 217] and len(set(also.events.tolist())) == len(also.events)


def test_a_question_that_shares_nothing_has_a_shortlist_all_the_same() -> None:
    result = EventMemory(TEXTS, HashedVectors()).pairs("xyzzy", size=2)
    assert len(result.events) == 2 and np.isfinite(result.measures).all()
    assert EventMemory(TEXTS[:1], HashedVectors()).pairs("Oslo?", size=32).events.tolist() == [0]
