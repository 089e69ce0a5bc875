from __future__ import annotations

import tracemalloc

import pytest

from construction.neighbours.near_subjects import nearest
from construction.neighbours.vectors import CharacterTfidf, space_of
from schemas.core.errors import UserError
from tests.support.construction.near_tables import edits_of, table


def test_memory_is_that_of_a_block():
    facts = table(3000, relations=1)
    edits = edits_of(facts, 3000)
    nearest(edits[:1], facts[:3], k=1, space=CharacterTfidf())  # what it imports is not counted
    tracemalloc.start()
    nearest(edits, facts, k=2, space=CharacterTfidf(), block=60_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 2  # all similarities at once would be 72 MB


def test_an_unknown_model_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="cannot be loaded") as error:
        space_of(str(tmp_path / "no-such-model"))
    assert "tfidf, embeddings, source" in str(error.value)
