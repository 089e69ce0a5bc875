"""Which items are drawn: stratified, with known inclusion probabilities. A drawn sample never changes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from annotation_ui.ratings.records import CampaignItem
from annotation_ui.tasks.base import TaskItem
from curation.quality.sample import allocate
from schemas.core.errors import UserError
from schemas.core.ids import seed


class SampleSize(NamedTuple):
    """How many items: in percent of all, or a number. ``least``: from every stratum at the least."""

    percent: float = 100.0
    number: int | None = None
    least: int = 1


def draw_sample(items: Sequence[TaskItem], size: SampleSize, *, name: str) -> list[CampaignItem]:
    """A stratified sample of items with known inclusion probabilities (calibration weights by them).

    The same name draws the same items.

    Args:
        items: All that could be judged.
        size: Percent or number; from 100 % on, all of them.
        name: Seeds the draw: the campaign's, or its group's.

    Raises:
        UserError: a percentage of 0 or less, more items than there are, or fewer than the strata need.
    """
    strata: dict[str, list[TaskItem]] = defaultdict(list)
    for item in items:
        strata[item.stratum].append(item)
    sizes = {s: len(strata[s]) for s in sorted(strata)}
    if size.percent >= 100 and size.number is None:
        return [CampaignItem(i, probability=1.0) for i in items]
    percent = _percent(sizes, size)
    rng = random.Random(seed(name, "sample"))
    shares = allocate(sizes, percent, min_per_stratum=size.least, rng=rng)
    return [
        CampaignItem(item, probability=share.probability)
        for stratum, share in shares.items()
        for item in rng.sample(sorted(strata[stratum], key=lambda i: i.id), share.drawn)
    ]


def _percent(sizes: Mapping[str, int], size: SampleSize) -> float:
    """The percentage that comes to the wanted number, strata with their least included."""
    if size.number is None:
        if not 0 < size.percent <= 100:
            raise UserError(f"a sample of {size.percent:g} % cannot be drawn", allowed="more than 0, at most 100")
        return size.percent
    total = sum(sizes.values())
    lowest = sum(min(size.least, n) for n in sizes.values())
    if not max(1, lowest) <= size.number <= total:
        raise UserError(
            f"{size.number} items cannot be drawn",
            allowed=f"{max(1, lowest)} to {total} ({len(sizes)} strata, at least {size.least} of each)",
        )
    small: set[str] = set()
    while True:  # a small stratum gives its least; the others share what is left
        rest = sum(n for s, n in sizes.items() if s not in small)
        left = size.number - sum(min(size.least, sizes[s]) for s in small)
        fraction = left / rest if rest else 1.0
        more = {s for s, n in sizes.items() if n * fraction < size.least - 1e-9} | small
        if more == small:
            return 100 * fraction
        small = more
