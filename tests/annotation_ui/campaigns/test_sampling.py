"""Samples: stratified, of the wanted size, and with probabilities that are true, also after growing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_ui.campaigns.sampling import (
    SampleSize,
    chances_of_earlier_version,
    draw_sample,
    grow_sample,
)
from annotation_ui.ratings.records import CampaignItem
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
    tenth = SampleSize(percent=10)
    draw = draw_sample(all_items, tenth, name="x").new
    assert len(draw) == 10
    assert {d.probability for d in draw} == {0.1}
    assert draw == draw_sample(list(reversed(all_items)), tenth, name="x").new
    assert draw != draw_sample(all_items, tenth, name="y").new
    for percent in (0.0, -1.0):
        with pytest.raises(UserError, match="more than 0, at most 100"):
            draw_sample(all_items, SampleSize(percent=percent), name="x")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 3), st.data())
def test_a_number_is_that_number_and_probabilities_add_up_to_it(
    sizes: list[int], least: int, data: st.DataObject
) -> None:
    lowest = max(1, sum(min(least, n) for n in sizes))
    number = data.draw(st.integers(lowest, sum(sizes)))
    draw = draw_sample(units(*sizes), SampleSize(number=number, least=least), name="x")
    assert len(draw.new) == number
    assert sum(draw.chances.values()) == pytest.approx(number)
    counts = Counter(d.item.stratum for d in draw.new)
    assert all(counts[f"s{s}"] >= min(least, n) for s, n in enumerate(sizes))


def test_numbers_that_cannot_be_drawn_are_refused_with_what_can() -> None:
    with pytest.raises(UserError, match="allowed: 3 to 30"):
        draw_sample(units(10, 10, 10), SampleSize(number=2), name="x")
    with pytest.raises(UserError, match="allowed: 1 to 30"):
        draw_sample(units(10, 10, 10), SampleSize(number=31, least=0), name="x")
    with pytest.raises(UserError, match="at most 30"):
        grow_sample(units(10, 10, 10), {}, set(), SampleSize(number=31), name="x")


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 29), st.integers(1, 60))
def test_growing_keeps_what_was_drawn_and_comes_to_the_number(first: int, second: int) -> None:
    items = units(30, 20, 10)
    before = draw_sample(items, SampleSize(number=first, least=0), name="x")
    item_ids = {p.item.id for p in before.new}
    draw = grow_sample(items, before.chances, item_ids, SampleSize(number=second, least=0), name="x")
    assert item_ids.isdisjoint({p.item.id for p in draw.new})
    assert len(item_ids) + len(draw.new) == max(first, second)
    assert all(p.probability == draw.chances[p.item.id] for p in draw.new)
    assert set(np.round(list(draw.chances.values()), 9)) == {round(max(first, second) / 60, 9)}


def test_a_smaller_size_takes_nothing_back_and_all_is_all() -> None:
    items = units(30, 20)
    before = draw_sample(items, SampleSize(50), name="x")
    item_ids = {p.item.id for p in before.new}
    same = grow_sample(items, before.chances, item_ids, SampleSize(20), name="x")
    assert (same.new, same.chances) == ([], before.chances)
    rest = grow_sample(items, before.chances, item_ids, SampleSize(100), name="x")
    assert len(rest.new) + len(item_ids) == 50 and set(rest.chances.values()) == {1.0}


def test_what_the_store_did_not_hold_before_starts_at_nothing() -> None:
    old, new = units(40), units(40, first=40)
    before = draw_sample(old, SampleSize(50), name="x")
    item_ids = {p.item.id for p in before.new}
    draw = grow_sample([*old, *new], before.chances, item_ids, SampleSize(50), name="x")
    assert set(draw.chances.values()) == {0.5} and len(draw.new) == 20
    assert {p.item.id for p in draw.new} <= {i.id for i in new}
    larger_sample = grow_sample(
        [*old, *units(0, 3)], before.chances, item_ids, SampleSize(50, least=2), name="x"
    )  # a stratum that is new gives its least
    assert [p.probability for p in larger_sample.new] == [pytest.approx(2 / 3)] * 2


def test_a_campaign_of_an_earlier_version_is_read_where_that_can_be() -> None:
    items = units(4, 2)
    campaign_items = [CampaignItem(items[0], probability=0.25), CampaignItem(items[4], probability=0.5)]
    assert list(chances_of_earlier_version(items, campaign_items, 6, "p").values()) == [0.25] * 4 + [0.5] * 2
    full_items = [CampaignItem(i, probability=1.0) for i in items[:2]]
    assert chances_of_earlier_version(items, full_items, 2, "p") == dict.fromkeys([i.id for i in items[:2]], 1.0)
    with pytest.raises(UserError, match="make a new campaign"):
        chances_of_earlier_version(items, campaign_items, 5, "p")


@pytest.mark.slow
def test_recorded_probabilities_are_the_true_ones_and_intervals_cover_after_growing() -> None:
    """Two growths, a store that grew between them; the mean by recorded probabilities, against the known one."""
    old, new = units(17, 40, 23), units(11, 9, 30, first=100)
    items, rounds = [*old, *new], 1500
    rng = np.random.default_rng(1)
    level = {"s0": 2.0, "s1": 4.0, "s2": 6.0}
    value = {i.id: level[i.stratum] + rng.normal() for i in items}
    truth, hits, chances, count, weighted = np.mean(list(value.values())), Counter[str](), {}, 0, []
    for n in range(rounds):
        first = draw_sample(old, SampleSize(30), name=f"r{n}")
        item_ids = {p.item.id for p in first.new}
        second = grow_sample(items, first.chances, item_ids, SampleSize(45), name=f"r{n}")
        item_ids |= {p.item.id for p in second.new}
        third = grow_sample(items, second.chances, item_ids, SampleSize(number=80), name=f"r{n}")
        item_ids |= {p.item.id for p in third.new}
        hits.update(item_ids)
        chances = third.chances
        weights = np.array([1 / chances[i] for i in item_ids])
        x = np.array([value[i] for i in item_ids])
        mean = float((weights * x).sum() / weights.sum())
        strata = [[value[i] for i in item_ids if i.startswith(s)] for s in level]
        sizes = [sum(i.stratum == s for i in items) for s in level]
        pairs = [(np.var(y, ddof=1) / len(y), len(y), size) for y, size in zip(strata, sizes, strict=True)]
        error = sum((size / len(items)) ** 2 * v * (1 - m / size) for v, m, size in pairs) ** 0.5
        count += abs(mean - truth) <= 1.96 * error + 0.02
        weighted.append(mean)
    true = np.array([hits[i.id] / rounds for i in items])
    observations = np.array([chances[i.id] for i in items])
    assert np.abs(true - observations).max() < 4.5 * (0.25 / rounds) ** 0.5
    assert abs(true.mean() - observations.mean()) < 1e-3
    assert abs(np.mean(weighted) - truth) < 4 * np.std(weighted) / rounds**0.5
    assert count / rounds > 0.93
