"""What cannot be estimated is refused in one sentence; matrices say what they are to say."""

from __future__ import annotations

import numpy as np
import pytest

from curation.stats.facets.fit import FacetItem, FacetRating, facet_design
from schemas.core.errors import UserError


def rating(item: str, person: str, value: int, *, aspect: str = "a", method: str | None = None) -> FacetRating:
    return FacetRating(item, f"c{item[0]}", method or item[1], person, aspect, value)


CROSSED = [rating(f"{c}{m}", p, n % 5 + 1) for n, (c, m, p) in enumerate(
    (c, m, p) for c in "1234" for m in "xy" for p in ("ann", "bob"))]  # fmt: skip


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([], "nobody has rated yet"),
        ([r for r in CROSSED if r.person == "ann"], "ann alone rated"),
        ([r for r in CROSSED if (r.person == "ann") == (r.method == "x")], "share no items with one another: ann; bob"),
        ([r._replace(value=7) for r in CROSSED], "'a' has no variance: all 16 ratings are 7"),
        ([*CROSSED, *(r._replace(aspect="b") for r in CROSSED if r.method == "x")], "'b' has no rating of y"),
        ([r for r in CROSSED if r.case in ("c1", "c2")], "three cases or more"),
    ],
)
def test_what_cannot_be_estimated_is_refused(ratings: list[FacetRating], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        facet_design(ratings)
    assert error.value.fix and "\n" not in str(error.value)


def test_a_chain_of_shared_items_links_everybody() -> None:
    chain = [r for r in CROSSED if r.person == "ann" or r.item == "1x"]
    chain += [rating("1x", "cat", 3), rating("9x", "cat", 2)]
    assert facet_design(chain).persons == ("ann", "bob", "cat")


def test_scale_points_that_nobody_used_have_no_threshold() -> None:
    design = facet_design([r._replace(value={1: 1, 2: 4}.get(r.value, 7)) for r in CROSSED])
    assert [v.tolist() for v in design.values] == [[1.0, 4.0, 7.0]]
    assert design.cuts.tolist() == [0, 2]
    assert {(int(u), int(low)) for u, low in zip(design.upper, design.lower, strict=True)} == {(0, -1), (1, 0), (-1, 1)}


def test_each_rating_has_its_method_less_its_person_and_its_case() -> None:
    design = facet_design(CROSSED)
    row = design.effects.toarray()[CROSSED.index(rating("3y", "bob", CROSSED[11].value))]
    case = next(b for b in design.blocks if b.name == "case")
    target = np.zeros(design.effects.shape[1])
    target[design.method_column[0, 1]], target[design.person_column[1]], target[case.start + 2] = 1, -1, 1
    assert row.tolist() == target.tolist()


def test_waiting_items_get_columns_and_no_rating() -> None:
    plain, more = facet_design(CROSSED), facet_design(CROSSED, [FacetItem("9x", "c9", "x"), FacetItem("9z", "c9", "z")])
    assert "9x" in more.items and "9z" not in more.items, "a method that nobody rated has no effect to be known"
    assert (len(more.units.names), len(more.cases.names)) == (len(plain.units.names) + 1, len(plain.cases.names) + 1)
    assert more.rated_cases == plain.rated_cases and more.effects.shape[0] == plain.effects.shape[0]
