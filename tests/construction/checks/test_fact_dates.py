from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from schemas.facts import Fact
from tests.support.facts import make_fact


@pytest.mark.parametrize(
    ("name", "first", "other", "label"),
    [
        ("the same chain", ("A", "B", "2020"), ("B", "C", "2021"), "keep"),
        ("ended first", ("A", "B", "2021-06"), ("B", "C", "2021-05"), "unsure"),
        ("may be in order", ("A", "B", "2021-06"), ("B", "C", "2021"), "keep"),
        ("brought too late", ("B", "C", "2020"), ("A", "B", "2021"), "unsure"),
        ("undone at once", ("A", "B", "2021"), ("B", "A", "2021"), "unsure"),
        ("undone later", ("A", "B", "2021"), ("B", "A", "2022"), "keep"),
        ("nothing to do with it", ("A", "B", "2021"), ("C", "D", "2019"), "keep"),
    ],
)
def test_two_changes_of_one_subject_come_in_order(name, first, other, label):
    made = [
        Fact(
            **{
                **make_fact("Peru", old, new, key=f"f/{n}").model_dump(),
                "change": "temporal",
                "changed_on": on,
            }
        )
        for n, (old, new, on) in enumerate((first, other))
    ]
    (verdict,) = judge("fact", CheckInputs(fact=made[0], facts=(made[1],)))
    assert verdict.label == label, verdict.reason
    assert verdict.related == ((made[1].id,) if label == "unsure" else ())
