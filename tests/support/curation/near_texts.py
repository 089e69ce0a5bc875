"""Texts of few words, the pairs among them found by the double loop, and items made of them."""

from __future__ import annotations

import itertools
import random

from curation.overlap.near_duplicates import TextItem
from curation.similarity.texts import rouge1_f

WORDS = ["how", "can", "i", "visit", "the", "red", "old", "castle", "in", "peru", "chile", "oslo", "by", "train"]


def made(n: int, *, seed: int = 0, vocabulary: list[str] = WORDS) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(vocabulary, k=rng.randint(0, 9))) for _ in range(n)]


def slow_pairs(texts: list[str], threshold: float) -> dict[tuple[int, int], float]:
    pairs = {(i, j): rouge1_f(texts[i], texts[j]) for i, j in itertools.combinations(range(len(texts)), 2)}
    return {k: v for k, v in pairs.items() if v >= threshold - 1e-9}


def items(*texts: str, groups: str = "") -> list[TextItem]:
    return [TextItem(f"id{n}", f"k{n}", t, groups[n] if groups else "") for n, t in enumerate(texts)]
