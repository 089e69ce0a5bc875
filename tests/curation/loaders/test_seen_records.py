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
    records = SeenRecords()
    assert records.enter(make_fact("Peru", "Lima", "Oslo", key="f/1"), main=True) == (None, True)
    problem, record = records.enter(make_fact("Peru", old, new, key=key), main=True)
    assert (problem and problem[0], record) == (kind, keep)


def test_a_neighbour_that_is_described_otherwise_has_a_key_of_its_own() -> None:
    records = SeenRecords()
    first, other = (make_fact("Chad", old, None, key="n/chad") for old in ("N'Djamena", "Abeche"))
    for fact in (first, other):
        neighbour, problem = records.neighbour(fact)
        records.enter(neighbour, main=False)
        assert (problem is None) == (fact is first) and neighbour.key.startswith("n/chad")
    repeat, problem = records.neighbour(other)
    assert repeat.key == f"n/chad~{other.id[:6]}" and problem is None, "said once"
