"""Which items are drawn: stratified, with known inclusion probabilities, also where a sample grows."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
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


class SampleDraw(NamedTuple):
    """A draw: the items that are new, and every item's probability to be in the sample by now, drawn or not."""

    new: list[CampaignItem]
    chances: dict[str, float]


def draw_sample(items: Sequence[TaskItem], size: SampleSize, *, name: str) -> SampleDraw:
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
        return SampleDraw([CampaignItem(i, probability=1.0) for i in items], {i.id: 1.0 for i in items})
    percent = _percent(sizes, size)
    rng = random.Random(seed(name, "sample"))
    shares = allocate(sizes, percent, min_per_stratum=size.least, rng=rng)
    new = [
        CampaignItem(item, probability=share.probability)
        for stratum, share in shares.items()
        for item in rng.sample(sorted(strata[stratum], key=lambda i: i.id), share.drawn)
    ]
    return SampleDraw(new, {i.id: shares[i.stratum].probability for i in items})


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


def grow_sample(
    items: Sequence[TaskItem], chances: Mapping[str, float], drawn: Collection[str], size: SampleSize, *, name: str
) -> SampleDraw:
    """A larger sample that holds the earlier one, with true probabilities for old and new alike.

    What was drawn with probability p and is to be in with q comes in, where it was left out, with (q - p)/(1 - p):
    p + (1 - p)(q - p)/(1 - p) = q. Items that the store did not hold before have p = 0. The size is a whole number that
    no chance changes, so that nothing later can depend on it.

    Args:
        items: All that could be judged now.
        chances: Each item's probability so far, drawn or not.
        drawn: Items that are in.
        size: Of the whole sample, the earlier one included; a smaller one takes nothing back.
        name: Seeds the draw.
    """
    cells: dict[tuple[str, float], list[TaskItem]] = defaultdict(list)
    for item in items:
        cells[item.stratum, chances.get(item.id, 0.0)].append(item)
    order = sorted(cells)
    out = {c: sorted((i for i in cells[c] if i.id not in drawn), key=lambda i: i.id) for c in order}
    known = {stratum for stratum, chance in order if chance > 0}
    least = {c: 0.0 if c[0] in known else min(size.least, len(cells[c])) / len(cells[c]) for c in order}

    def shares(goal: float) -> dict[tuple[str, float], float]:
        return {c: 0.0 if c[1] >= 1 else max(0.0, (max(goal, least[c]) - c[1]) / (1 - c[1])) for c in order}

    def expected(goal: float) -> dict[tuple[str, float], float]:
        return {c: share * len(out[c]) for c, share in shares(goal).items()}

    goal = _goal(lambda q: sum(expected(q).values()), size, sum(i.id in drawn for i in items), len(items))
    rng = random.Random(seed(name, "grow", str(len(drawn)), str(len(items))))
    counts, share = _round_systematically(expected(goal), rng), shares(goal)
    now = {c: c[1] + (1 - c[1]) * share[c] for c in order}
    new = [CampaignItem(i, probability=now[c]) for c in order for i in rng.sample(out[c], counts[c])]
    return SampleDraw(new, {i.id: now[c] for c in order for i in cells[c]})


def _goal(coming: Callable[[float], float], size: SampleSize, inside: int, total: int) -> float:
    """The probability that every item shall have, so that a whole number of them comes in."""
    if size.number is None:
        fraction = _percent({"all": total}, size) / 100
        wanted = math.ceil(coming(fraction) - 1e-9)
    elif size.number > total:
        raise UserError(f"{size.number} items cannot be drawn", allowed=f"at most {total}")
    else:
        wanted = max(0, size.number - inside)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if coming(middle) < wanted else (low, middle)
    return high


def _round_systematically(
    expected: Mapping[tuple[str, float], float], rng: random.Random
) -> dict[tuple[str, float], int]:
    """Whole numbers whose expectations are these: the fractions are rounded by one systematic draw."""
    point, reached, out = rng.random(), 0.0, {}
    for cell, share in expected.items():
        before, reached = reached, reached + share
        out[cell] = math.floor(reached - point + 1 + 1e-9) - math.floor(before - point + 1 + 1e-9)
    return out


def chances_of_earlier_version(
    items: Sequence[TaskItem], placed: Sequence[CampaignItem], population: int, name: str
) -> dict[str, float]:
    """Everybody's probability in a campaign whose population was not kept, from the items that were drawn.

    Raises:
        UserError: the store has changed since and it was a sample: nobody can say what the probabilities were.
    """
    known = {p.item.id: p.probability for p in placed if p.purpose == "real" and p.probability is not None}
    if all(p == 1.0 for p in known.values()):
        return dict.fromkeys(known, 1.0)
    if population != len(items):
        raise UserError(
            f"the sample of '{name}' was drawn by an earlier version and the store has changed since: with what "
            "probability its items were drawn cannot be said any more",
            fix="make a new campaign",
        )
    of_stratum = {p.item.stratum: known[p.item.id] for p in placed if p.item.id in known}
    ((usual, _),) = Counter(known.values()).most_common(1)
    return {i.id: known.get(i.id, of_stratum.get(i.stratum, usual)) for i in items}
