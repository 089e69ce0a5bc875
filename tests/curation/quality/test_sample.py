from __future__ import annotations

import random
from collections import Counter

import pytest

from curation.quality.sample import CRITERIA, Sample, allocate, draw, keep_sample, sample_named, samples, sheet
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.curation.filled_sheets import MINI

PROMPTS = {p.id: c.key for c in MINI.cases for p in c.prompts}


def test_allocation_is_proportional_and_its_probabilities_are_true() -> None:
    """Drawn many times, each stratum gives what its probability says; the total never varies."""
    sizes = {"a": 7, "b": 13, "c": 55, "d": 1, "e": 24}
    totals: Counter[str] = Counter()
    for n in range(4000):
        shares = allocate(sizes, 10, min_per_stratum=0, rng=random.Random(n))
        assert sum(s.drawn for s in shares.values()) == 10
        for name, share in shares.items():
            assert share.probability == pytest.approx(0.1) and abs(share.drawn - sizes[name] / 10) < 1
            totals[name] += share.drawn
    for name, size in sizes.items():  # four standard errors of a Bernoulli mean
        assert totals[name] / 4000 == pytest.approx(size / 10, abs=4 * 0.5 / 4000**0.5)


def test_small_strata_get_their_least_with_their_own_probability() -> None:
    shares = allocate({"small": 5, "tiny": 1, "large": 100}, 10, min_per_stratum=2, rng=random.Random(0))
    assert shares["small"] == (2, 0.4) and shares["tiny"] == (1, 1.0) and shares["large"] == (10, 0.1)


def test_a_draw_is_seeded_by_content_and_settings() -> None:
    first = draw(MINI, percent=20)
    assert first == draw(MINI._replace(name="other"), percent=20)._replace(split=first.split)
    assert {d.item_id for d in first.items} != {d.item_id for d in draw(MINI, percent=20, number=1).items}
    assert first.population == len(PROMPTS) and len(first.items) == -(-len(PROMPTS) // 5)
    assert all(PROMPTS[d.item_id] == d.case for d in first.items)
    assert {d.item_id for d in draw(MINI, percent=100, unit="case").items} == {c.id for c in MINI.cases}
    with pytest.raises(UserError, match="sample of 0 %"):
        draw(MINI, percent=0)


def test_sheets_are_blind_and_each_in_an_order_of_its_own() -> None:
    sample = draw(MINI, percent=30, people=("ann", "bob"))
    ann, bob = sheet(sample, MINI.cases, "ann"), sheet(sample, MINI.cases, "bob")
    assert [r["item"] for r in ann] != [r["item"] for r in bob]
    assert {r["item"] for r in ann} == {r["item"] for r in bob} == {d.item_id for d in sample.items}
    fields = {"n", "sample", "person", "item", "edit", "script_question", "text_up_to_the_cut", "object"}
    assert set(ann[0]) == fields | {c.name for c in CRITERIA} | {f"{c.name}_reason" for c in CRITERIA}
    assert all("\nStep" in r["text_up_to_the_cut"] for r in ann)
    with pytest.raises(UserError, match="not in these cases"):
        sheet(sample, MINI.cases[:1], "ann")


def test_the_store_remembers_the_sample(store: Store, sample: Sample) -> None:
    draw_result = draw(MINI, percent=30, people=("ann", "bob"))
    assert sample == draw_result._replace(items=tuple(sorted(draw_result.items)))
    keep_sample(store, draw(MINI, percent=30, people=("eve",)))
    assert [s.people for s in samples(store, digest=MINI.digest)] == [("ann", "bob", "eve")]
    assert samples(store, digest="0") == []
    with pytest.raises(UserError, match="no sample is called 'zz'; allowed: "):
        sample_named(store, "zz")
