"""What MinHash finds, promises and costs."""

from __future__ import annotations

import random

import pytest

from curation.similarity.minhash import BandPlan, minhash_pairs, plan
from curation.similarity.rouge import encode
from tests.support.curation.near_texts import made, slow_pairs


@pytest.mark.parametrize(("threshold", "recall"), [(0.4, 0.99), (0.6, 0.9), (0.8, 0.99), (1.0, 0.99)])
def test_a_plan_keeps_its_promise(threshold: float, recall: float) -> None:
    settings = plan(threshold, recall=recall)
    assert settings.recall(threshold) >= recall and settings.rows * settings.bands <= 256
    assert settings.recall(threshold / 2) < recall


def test_minhash_finds_what_its_plan_expects_and_nothing_false() -> None:
    vocabulary = [f"w{n}" for n in range(400)]
    rng = random.Random(1)
    texts = made(300, seed=7, vocabulary=vocabulary)
    for _ in range(300):
        parts = rng.choice(texts[:300]).split() or ["w0"]
        parts[rng.randrange(len(parts))] = rng.choice(vocabulary)
        texts.append(" ".join(parts))
    truth = slow_pairs(texts, 0.7)
    rows = encode(texts)
    duplicates = {(int(i), int(j)): v for b in minhash_pairs(rows, threshold=0.7) for i, j, v in zip(*b, strict=True)}
    assert set(duplicates) <= set(truth) and duplicates == pytest.approx({k: truth[k] for k in duplicates})
    assert len(duplicates) >= 0.97 * len(truth) > 200
    pairs = {
        (int(i), int(j)) for b in minhash_pairs(rows, threshold=0.7) for i, j in zip(b.first, b.second, strict=True)
    }
    assert pairs == set(duplicates), "seeded"
    few = BandPlan(rows=8, bands=1)
    fewer = {k for b in minhash_pairs(rows, threshold=0.7, band_plan=few) for k in zip(b.first, b.second, strict=True)}
    assert len(fewer) < len(duplicates), "one narrow band misses some: the promise is the plan's, not luck's"
