"""Samples: stratified, of the wanted size, and with probabilities that are true."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_ui.campaigns.campaign import CampaignOptions, draw_sample
from annotation_ui.tasks.base import TaskItem
from schemas.core.errors import UserError


def units(*sizes: int, first: int = 0) -> list[TaskItem]:
    """Items of strata of these sizes."""
    return [
        TaskItem(id=f"s{s}-{n:04}", case=f"c{n}", stratum=f"s{s}", shown={})
        for s, size in enumerate(sizes)
        for n in range(first, first + size)
    ]


def test_a_sample_is_stratified_seeded_and_knows_its_probabilities() -> None:
    all_items = units(25, 25, 25, 25)
    tenth = CampaignOptions(percent=10)
    draw = draw_sample(all_items, tenth, name="x")
    assert len(draw) == 10
    assert {d.probability for d in draw} == {0.1}
    assert draw == draw_sample(list(reversed(all_items)), tenth, name="x")
    assert draw != draw_sample(all_items, tenth, name="y")
    for percent in (0.0, -1.0):
        with pytest.raises(UserError, match="more than 0, at most 100"):
            draw_sample(all_items, CampaignOptions(percent=percent), name="x")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 3), st.data())
def test_a_number_is_that_number_and_probabilities_add_up_to_it(
    sizes: list[int], least: int, data: st.DataObject
) -> None:
    lowest = max(1, sum(min(least, n) for n in sizes))
    number = data.draw(st.integers(lowest, sum(sizes)))
    draw = draw_sample(units(*sizes), CampaignOptions(number=number, least=least), name="x")
    assert len(draw) == number
    of_stratum = {d.item.stratum: d.probability for d in draw}
    assert all(p is not None and 0 < p <= 1 for p in of_stratum.values())
    counts = Counter(d.item.stratum for d in draw)
    if least:  # every stratum is there, so that the probabilities of all items are known
        expected = sum(n * (of_stratum[f"s{s}"] or 0) for s, n in enumerate(sizes))
        assert expected == pytest.approx(number)
    assert all(counts[f"s{s}"] >= min(least, n) for s, n in enumerate(sizes))


def test_numbers_that_cannot_be_drawn_are_refused_with_what_can() -> None:
    with pytest.raises(UserError, match="allowed: 3 to 30"):
        draw_sample(units(10, 10, 10), CampaignOptions(number=2), name="x")
    with pytest.raises(UserError, match="allowed: 1 to 30"):
        draw_sample(units(10, 10, 10), CampaignOptions(number=31, least=0), name="x")
