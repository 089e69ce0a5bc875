"""What a file said already: repeated keys, contradictions, neighbours told twice."""

from __future__ import annotations

import pytest

from curation.loaders.seen_records import SeenRecords
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("old", "new", "key", "kind", "keep"),
    [
        ("Lima", "Oslo", "f/1", "duplicate", False),
        ("Lima", "Bergen", "f/1", "duplicate", False),
        ("Cusco", "Oslo", "f/2", "contradictory", True),
        ("Lima", "Bergen", "f/2", "contradictory", True),
        ("lima", "oslo", "f/2", None, True),
    ],
)
def test_a_second_fact_of_one_subject_and_relation(old: str, new: str, key: str, kind: str | None, keep: bool) -> None:
    seen = SeenRecords()
    assert seen.enter(make_fact("Peru", "Lima", "Oslo", key="f/1"), main=True) == (None, True)
    problem, kept = seen.enter(make_fact("Peru", old, new, key=key), main=True)
    assert (problem and problem[0], kept) == (kind, keep)


def test_a_neighbour_that_is_described_otherwise_has_a_key_of_its_own() -> None:
    seen = SeenRecords()
    first, other = (make_fact("Chad", old, None, key="n/chad") for old in ("N'Djamena", "Abeche"))
    for fact in (first, other):
        kept, problem = seen.neighbour(fact)
        seen.enter(kept, main=False)
        assert (problem is None) == (fact is first) and kept.key.startswith("n/chad")
    again, problem = seen.neighbour(other)
    assert again.key == f"n/chad~{other.id[:6]}" and problem is None, "said once"
