"""Contradictory requests: named with both keys, and the later one counts."""

from __future__ import annotations

from curation.splits.contradictions import contradictions, overwritten
from tests.support.arithmetic import make_case


def test_two_objects_for_one_fact_are_named_and_the_later_one_overwrites():
    cases = [make_case("Peru"), make_case("Kenya"), make_case("Peru", new="Rome"), make_case("Peru", new="Bern")]
    assert [(c.first, c.second) for c in contradictions(cases)] == [(1, 3), (3, 4)]
    assert overwritten(cases) == {1: 3, 3: 4}
    text = contradictions(cases)[0].text
    assert text.startswith("'case/peru' and 'case/peru' contradict each other: Peru, ") and "-> Oslo and Rome" in text


def test_equal_requests_and_other_facts_do_not_contradict():
    assert contradictions([make_case("Peru"), make_case("Peru"), make_case("Kenya", new="Rome")]) == []
