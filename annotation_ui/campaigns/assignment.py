"""Who judges what: overlap, balance, an order of their own for everybody, batches; what is done is never moved."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from annotation_ui.ratings.database import Assignment, CampaignItem
from annotation_ui.tasks.base import TaskItem
from curation.stats.estimates import connected_groups
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.text.counting import counted

_TRIES, _MOST_TRIES = 60, 100_000
"""Exchanges that are tried: for each assignment, and in all."""


def assign(
    items: Sequence[CampaignItem],
    people: Sequence[str],
    *,
    overlap: int,
    batch: int,
    name: str,
    existing: Sequence[Assignment] = (),
    started: Collection[tuple[str, str]] = (),
) -> tuple[list[Assignment], list[Assignment]]:
    """New assignments, and earlier ones to take back.

    Every real item goes to ``overlap`` people, everybody gets as many items as the others, and every pair of people
    about as many items in common, so that agreement and severity can be computed for all of them. Strata are balanced
    as far as that goes; training and attention items go to everybody. A person's batch that has begun stays whole.
    Batches that have not begun are given anew when somebody has two items more than somebody else, as when people join.

    Args:
        items: All items of the campaign.
        people: All raters, the new ones too.
        overlap: Raters per item.
        batch: Items a batch; training items are batch 0.
        name: Seeds all draws: the campaign's name.
        existing: Assignments so far.
        started: (person, item) with an answer.

    Raises:
        UserError: fewer people than the overlap asks for.
    """
    if len(set(people)) < overlap:
        raise UserError(
            f"an overlap of {overlap} needs as many people, there are {len(set(people))}",
            fix="invite more, or ask for less overlap",
        )
    real = {p.item.id: p.item for p in items if p.purpose == "real"}
    firm = keep_assignments(existing, started, people)
    open_ = [a for a in existing if a not in firm and a.item in real]
    shares = _Shares([*firm, *(a for a in open_ if a.person in people)], people, real)
    added = _fill(shares, people, overlap, name, started)
    taken = [a for a in open_ if a.person not in people]
    loads = [shares.load[person] for person in people]
    if max(loads) - min(loads) > 1:
        added, taken = _fill(_Shares([*firm], people, real), people, overlap, name, started), open_
    as_before = {(a.person, a.item) for a in taken} & set(added)
    new = [pair for pair in added if pair not in as_before]
    extra = [p.item.id for p in items if p.purpose != "real"]
    placed = _place_items(items, new, existing, extra, people, batch, name)
    return placed, [a for a in taken if (a.person, a.item) not in as_before]


class _Shares:
    """Who has what, while items are assigned.

    Attributes:
        real: The items to assign, by id.
        held: By item, the people who have it.
        load: By person, how many real items they have.
        of_stratum: The same by person and stratum.
        common: By pair of people, how many real items both have.
    """

    def __init__(self, assigned: Sequence[Assignment], people: Sequence[str], real: Mapping[str, TaskItem]) -> None:
        self.real = real
        self.held: dict[str, set[str]] = defaultdict(set)
        self.load = Counter({p: 0 for p in people})
        self.of_stratum: Counter[tuple[str, str]] = Counter()
        self.common: Counter[frozenset[str]] = Counter()
        for a in assigned:
            if a.item in real:
                self.give(a.person, a.item)
            else:
                self.held[a.item].add(a.person)

    def give(self, person: str, item: str) -> None:
        """An item goes to a person."""
        self.common.update(frozenset((person, other)) for other in self.held[item])
        self.held[item].add(person)
        self.load[person] += 1
        self.of_stratum[person, self.real[item].stratum] += 1

    def take(self, person: str, item: str) -> None:
        """An item goes back."""
        self.held[item].discard(person)
        self.common.subtract(frozenset((person, other)) for other in self.held[item])
        self.load[person] -= 1
        self.of_stratum[person, self.real[item].stratum] -= 1

    def cost(self, person: str, item: str) -> int:
        """What an item adds to the squares of the person's items in common with others, and in the item's stratum."""
        common = sum(self.common[frozenset((person, other))] for other in self.held[item] if other != person)
        return common + self.of_stratum[person, self.real[item].stratum]


def _fill(
    shares: _Shares, people: Sequence[str], overlap: int, name: str, started: Collection[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Give every item that lacks people to those who have least to do, where it costs least; then exchange items."""
    added: list[tuple[str, str]] = []
    for item in _order(shares.real, name):
        while sum(p in people or (p, item) in started for p in shares.held[item]) < overlap:
            free = [p for p in people if p not in shares.held[item]]
            chosen = min(free, key=lambda p: (shares.load[p], shares.cost(p, item), seed(name, item, p)))
            shares.give(chosen, item)
            added.append((chosen, item))
    _even_out(shares, added, people, random.Random(seed(name, "exchange")))
    return added


def _even_out(shares: _Shares, added: list[tuple[str, str]], people: Sequence[str], rng: random.Random) -> None:
    """Move items to those who have less, and exchange them where that evens out what pairs of people have in common."""
    for n, (person, item) in reversed(list(enumerate(added))):
        free = [p for p in people if p not in shares.held[item]]
        receiver = min(free, key=lambda p: (shares.load[p], shares.cost(p, item)), default=person)
        if shares.load[person] - shares.load[receiver] > 1:
            shares.take(person, item)
            shares.give(receiver, item)
            added[n] = (receiver, item)
    for _ in range(min(_TRIES * len(added), _MOST_TRIES) if len(added) > 1 else 0):
        m, n = rng.sample(range(len(added)), 2)
        (one, item), (other, their_item) = added[m], added[n]
        if one in shares.held[their_item] or other in shares.held[item]:
            continue
        shares.take(one, item)
        shares.take(other, their_item)
        before = shares.cost(one, item) + shares.cost(other, their_item)
        if shares.cost(other, item) + shares.cost(one, their_item) <= before:
            added[m], added[n] = (other, item), (one, their_item)
        shares.give(*added[m])
        shares.give(*added[n])


def keep_assignments(
    existing: Sequence[Assignment], started: Collection[tuple[str, str]], people: Collection[str]
) -> set[Assignment]:
    """Assignments that stay: those answered, and all of a batch that has begun; of people who left, the answered."""
    begun = {(a.person, a.batch) for a in existing if (a.person, a.item) in started}
    return {
        a for a in existing if (a.person, a.item) in started or (a.person in people and (a.person, a.batch) in begun)
    }


def _order(real: Mapping[str, TaskItem], name: str) -> list[str]:
    """Items, strata taking turns, so that loads even out within each."""
    strata: dict[str, list[str]] = defaultdict(list)
    for item in sorted(real):
        strata[real[item].stratum].append(item)
    turns = []
    for stratum in sorted(strata):
        random.Random(seed(name, stratum)).shuffle(strata[stratum])
        turns += [(n, stratum, item) for n, item in enumerate(strata[stratum])]
    return [item for _, _, item in sorted(turns)]


def pairs_in_words(assignments: Sequence[Assignment], items: Collection[str]) -> str:
    """How many of some items every two people have in common, and what that means; empty for fewer than two people.

    Args:
        assignments: Of the campaign.
        items: Ids of the real items.

    Example:
        >>> both = [Assignment(p, "i", 1, 0) for p in ("ann", "bob")]
        >>> pairs_in_words(both, {"i"})
        'Every two raters have 1 item in common.'
        >>> pairs_in_words([*both, Assignment("cho", "j", 1, 0)], {"i", "j"}).partition(". ")[2]
        'No chain of common items leads from ann to cho: severity cannot be compared between them.'
        >>> pairs_in_words([both[0], Assignment("bob", "j", 1, 0)], {"i", "j"})
        'No two raters have an item in common: neither agreement nor severity can be computed. Use --overlap 2 or more.'
    """
    of_item: dict[str, set[str]] = defaultdict(set)
    for a in assignments:
        if a.item in items:
            of_item[a.item].add(a.person)
    people = sorted(set().union(*of_item.values()))
    pairs = list(combinations(people, 2))
    common = Counter(pair for held in of_item.values() for pair in combinations(sorted(held), 2))
    if not pairs:
        return ""
    if not common:
        return (
            "No two raters have an item in common: neither agreement nor severity can be computed. "
            "Use --overlap 2 or more."
        )
    counts = [common[pair] for pair in pairs]
    least, most = min(counts), max(counts)
    size = counted(least, "item") if least == most else f"{least} to {most} items"
    without = [f"{a} and {b}" for a, b in pairs if not common[a, b]]
    rest = f"; none: {', '.join(without)}" if without else ""
    chained = connected_groups({p: [item for item, held in of_item.items() if p in held] for p in people})[0]
    apart = [p for p in people if p not in chained]
    line = f"Every two raters have {size} in common{rest}."
    if not apart:
        return line
    chain = f"No chain of common items leads from {people[0]} to {', '.join(apart)}"
    return f"{line} {chain}: severity cannot be compared between them."


def _place_items(
    items: Sequence[CampaignItem],
    added: Sequence[tuple[str, str]],
    existing: Sequence[Assignment],
    extra: Sequence[str],
    people: Sequence[str],
    batch: int,
    name: str,
) -> list[Assignment]:
    """Positions and batches: training first, real items shuffled for each person, attention items among them."""
    purpose = {p.item.id: p.purpose for p in items}
    have = {(a.person, a.item) for a in existing}
    out = []
    for person in people:
        rng = random.Random(seed(name, person, "order", str(sum(a.person == person for a in existing))))
        before = [a for a in existing if a.person == person]
        position = max((a.position for a in before), default=-1) + 1
        first = max((a.batch for a in before), default=0) + 1
        training = [i for i in extra if purpose[i] == "training" and (person, i) not in have]
        rng.shuffle(training)
        mine = [item for who, item in added if who == person]
        rng.shuffle(mine)
        for item in (i for i in extra if purpose[i] == "attention" and (person, i) not in have):
            mine.insert(rng.randrange(len(mine) + 1), item)
        out += [Assignment(person, item, 0, position + n) for n, item in enumerate(training)]
        position += len(training)
        out += [Assignment(person, item, first + n // batch, position + n) for n, item in enumerate(mine)]
    return out
