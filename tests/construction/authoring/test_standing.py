"""What verdicts come to."""

from __future__ import annotations

import itertools

import pytest

from construction.authoring.outcome import asked_as_edit, overall_label
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact

FACT = make_fact()


def said(*labels):
    return [
        Verdict(
            key=verdict_key(item_id=FACT.id, by=f"c{n}@1"), item_id=FACT.id, by=f"c{n}@1", label=label, reason="because"
        )
        for n, label in enumerate(labels)
    ]


CASES = {
    (): "keep",
    ("keep",): "keep",
    ("keep", "unsure"): "unsure",
    ("unscored",): "unsure",
    ("unscored", "keep", "drop"): "drop",
    ("drop", "unsure"): "drop",
}


@pytest.mark.parametrize("labels", CASES, ids=str)
def test_the_worst_counts_whatever_the_order(labels):
    for order in itertools.permutations(labels):
        assert overall_label(said(*order)) == CASES[labels]


def test_a_measurement_without_a_label_drops_nothing():
    verdict = Verdict(
        key=verdict_key(item_id=FACT.id, by="s@1"), item_id=FACT.id, by="s@1", label=None, value=0.99, unit="u"
    )
    assert overall_label([verdict]) == "keep"


def test_a_fact_that_only_serves_makes_no_case_until_it_is_edited():
    """One verdict a fact: that of the later run takes the place of the earlier one, by its key."""
    serves, verdict = asked_as_edit(FACT, edited=False), asked_as_edit(FACT, edited=True)
    assert serves.key == verdict.key and (serves.label, verdict.label) == ("drop", "keep")
    assert "only serves as a neighbour" in serves.reason and verdict.reason == ""
