"""The quality sample of a split (ScEdit Appendix B.2.2): drawn with known probabilities, judged blind by people.

Three experts judged 10 % of the final data by three criteria. Here the sample is stratified by relation, kind of change
and step of the cut; the probability of every item is kept in its lineage, so that rates can be weighted back to the
split.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from curation.splits.split_file import Split
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.core.ids import content_id, seed
from schemas.lineage import Lineage

STAGE = "quality_sample"
Unit = Literal["prompt", "case"]


CRITERIA = ("question", "change", "cut")
"""The criteria of ScEdit B.2.2, as the fields of the rating task ``quality`` name them."""


class SampledItem(NamedTuple):
    """One item of a sample.

    Attributes:
        item_id: Content id of the script prompt or case.
        key: Its key.
        case: Key of its case.
        stratum: Relation, change and step.
        probability: With which it came into the sample.
        people: Who was asked about it, by the last import of a campaign's answers.
    """

    item_id: str
    key: str
    case: str
    stratum: str
    probability: float
    people: tuple[str, ...] = ()


class Sample(NamedTuple):
    """A drawn sample. ``name`` depends on the split's digest and the settings only, and stands in every file."""

    name: str
    split: str
    digest: str
    unit: Unit
    population: int
    items: tuple[SampledItem, ...]


class StratumShare(NamedTuple):
    """What a stratum gives: items drawn, and the probability of each of its items."""

    drawn: int
    probability: float


def allocate(
    sizes: Mapping[str, int], percent: float, *, min_per_stratum: int, rng: random.Random
) -> dict[str, StratumShare]:
    """How many items each stratum gives.

    A stratum smaller than it takes for ``min_per_stratum`` at the sampling fraction gives that many of its items (or
    all). Of the others each gives the whole part of its proportional share, and the fractions are rounded by one
    systematic draw, so that the total is fixed and every item's probability is the fraction exactly.

    Args:
        sizes: Items in each stratum.
        percent: Of all items, in percent.
        min_per_stratum: At least so many from every stratum.
        rng: For the systematic draw.

    Example:
        >>> allocate({"a": 40, "b": 60}, 10, min_per_stratum=0, rng=random.Random(0))
        {'a': StratumShare(drawn=4, probability=0.1), 'b': StratumShare(drawn=6, probability=0.1)}
    """
    fraction = percent / 100
    small = {s for s, size in sizes.items() if size * fraction < min_per_stratum}
    out = {s: StratumShare(min(min_per_stratum, sizes[s]), min(min_per_stratum, sizes[s]) / sizes[s]) for s in small}
    rest = [s for s in sizes if s not in small]
    total = sum(sizes[s] for s in rest)
    wanted = min(total, math.ceil(total * fraction - 1e-9))
    exact = wanted / total if total else 0.0
    point, reached = rng.random(), 0.0
    for stratum in rest:
        share = sizes[stratum] * exact
        whole = math.floor(share + 1e-9)
        before, reached = reached, reached + max(0.0, share - whole)
        extra = math.floor(reached + 1e-9 - point) - math.floor(before + 1e-9 - point)
        out[stratum] = StratumShare(min(sizes[stratum], whole + extra), exact)
    return {s: out[s] for s in sizes}


def draw(
    split: Split,
    *,
    unit: Unit = "prompt",
    percent: float = 10.0,
    min_per_stratum: int = 0,
    number: int = 0,
) -> Sample:
    """Draw a sample of a split's own script prompts (not those of neighbours) or of its cases.

    Args:
        split: The split; the draw depends on its digest, not on its name.
        unit: What is judged.
        percent: How much, in percent; the paper took 10.
        min_per_stratum: Items from every stratum at the least.
        number: Draw another sample of the same split with another number.

    Raises:
        UserError: nothing to draw from, or a percentage outside 0 to 100.
    """
    if not 0 < percent <= 100:
        raise UserError(f"a sample of {percent:g} % cannot be drawn", allowed="more than 0, at most 100")
    strata: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for case in split.cases:
        for item_id, key, step in _units(case, unit):
            where = f"{case.fact.relation.id} {case.fact.change} step {step}"
            strata[where].append((item_id, key, case.key))
    if not strata:
        raise UserError(f"the split '{split.name}@{split.version}' has no {unit} to draw from")
    name = content_id("sample", [split.digest, unit, percent, min_per_stratum, number])
    rng = random.Random(seed(split.digest, name, STAGE))
    shares = allocate({s: len(strata[s]) for s in sorted(strata)}, percent, min_per_stratum=min_per_stratum, rng=rng)
    items = [
        SampledItem(item_id, key, case, stratum, share.probability)
        for stratum, share in shares.items()
        for item_id, key, case in rng.sample(sorted(strata[stratum]), share.drawn)
    ]
    population = sum(map(len, strata.values()))
    label = f"{split.name}@{split.version}"
    return Sample(name, label, split.digest, unit, population, tuple(items))


def _units(case: Case, unit: Unit) -> list[tuple[str, str, str]]:
    """(id, key, step) of the items of a case; a case's step is the earliest of its prompts."""
    steps = [str(p.step) if p.step is not None else "unknown" for p in case.prompts]
    if unit == "prompt":
        return [(p.id, p.key, step) for p, step in zip(case.prompts, steps, strict=True)]
    return [(case.id, case.key, min(steps, default="none"))]


def keep_sample(store: Store, sample: Sample) -> None:
    """Record a sample in the lineage of its items; drawing it again adds nothing."""
    at = now("milliseconds")
    store.put([], [_line(sample, item, at) for item in sample.items])


def keep_people(store: Store, people: Mapping[str, Iterable[str]]) -> None:
    """Record who was asked about items (by content id), in place of what was recorded before."""
    at, lines = now("milliseconds"), []
    for sample in samples(store):
        for item in sample.items:
            asked = tuple(sorted(people.get(item.item_id, item.people)))
            if asked != item.people:
                lines.append(_line(sample, item._replace(people=asked), at, request=f"{at}/"))
    store.put([], lines)


def _line(sample: Sample, item: SampledItem, at: str, *, request: str = "") -> Lineage:
    detail = {**sample._asdict(), "item": item._asdict(), "people": list(item.people)}
    del detail["items"], detail["item"]["people"]
    request = f"sample/{sample.name}/{request}{','.join(item.people)}"
    return Lineage(item_id=item.item_id, stage=STAGE, made_at=at, request=request, detail=detail)


def samples(store: Store, *, digest: str | None = None) -> list[Sample]:
    """The samples that the store knows, the one drawn last at the end; with ``digest``, those of one split's cases."""
    details: dict[str, dict[str, Any]] = {}
    items: dict[str, dict[str, SampledItem]] = defaultdict(dict)
    drawn_at: dict[str, str] = {}
    for line in store.lineages(stage=STAGE):
        detail = dict(line.detail)
        item, name = SampledItem(**detail.pop("item"), people=tuple(detail.pop("people"))), detail["name"]
        if digest is None or detail["digest"] == digest:
            details[name], items[name][item.item_id] = detail, item
            drawn_at[name] = min(line.made_at, drawn_at.get(name, line.made_at))
    names = sorted(details, key=lambda name: (drawn_at[name], name))
    return [Sample(**details[n], items=tuple(sorted(items[n].values()))) for n in names]


def sample_named(store: Store, name: str) -> Sample:
    """One sample by its name, the beginning of it, or the split that it was drawn from (``name`` or ``name@version``).

    Without a name it is the one drawn last.

    Raises:
        UserError: none or several answer to it.
    """
    known = samples(store) if name else samples(store)[-1:]
    matches = [s for s in known if s.name.startswith(name) or name in (s.split, s.split.rsplit("@", 1)[0])]
    if len(matches) != 1:
        raise UserError(
            f"{len(matches)} samples are called '{name}'" if matches else f"no sample is called '{name}'",
            allowed=", ".join(f"{s.name} of {s.split}" for s in known) or "none is drawn yet",
            fix="draw one with: scedit split sample draw" if not known else None,
        )
    return matches[0]
