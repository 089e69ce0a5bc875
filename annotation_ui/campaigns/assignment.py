"""Who judges what: overlap, balance, an order of their own for everybody, batches; what is done is never moved."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from annotation_ui.ratings.records import Assignment, CampaignItem
from annotation_ui.tasks.base import TaskItem
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.text.counting import counted


class AssignmentSettings(NamedTuple):
    """How work is shared out.

    Attributes:
        overlap: Raters per item.
        batch: Items a batch; training items are batch 0.
        name: Seeds all draws: the campaign's name.
    """

    overlap: int
    batch: int
    name: str


def assign(
    items: Sequence[CampaignItem],
    people: Sequence[str],
    settings: AssignmentSettings,
    *,
    existing: Sequence[Assignment] = (),
    started: Collection[tuple[str, str]] = (),
    planned: Sequence[tuple[str, str]] = (),
) -> tuple[list[Assignment], list[Assignment]]:
    """New assignments, and earlier ones to take back.

    Every real item goes to ``overlap`` people, everybody gets as many items as the others, and every pair of people
    about as many items in common, so that agreement and severity can be computed for all of them. Strata are balanced
    as far as that goes; training and attention items go to everybody. A person's batch that has begun stays whole.
    Later batches are given away, the last first, when somebody who joined has less to do.

    Args:
        items: All items of the campaign.
        people: All raters, the new ones too.
        settings: How.
        existing: Assignments so far.
        started: (person, item) with an answer.
        planned: (person, item) to give first. If there are any, all batches that have not begun are given anew.

    Raises:
        UserError: fewer people than the overlap asks for.
    """
    if len(set(people)) < settings.overlap:
        raise UserError(
            f"an overlap of {settings.overlap} needs as many people, there are {len(set(people))}",
            fix="invite more, or ask for less overlap",
        )
    real = {p.item.id: p.item for p in items if p.purpose == "real"}
    assignments_to_keep = _keep_assignments(existing, started, people)
    movable = [a for a in existing if a not in assignments_to_keep and a.item in real]
    if planned:
        shares = _Shares(list(assignments_to_keep), people, real)
        for person, item in planned:
            shares.give(person, item)
        added = [*planned, *_fill(shares, people, settings, started)]
        firm = list(assignments_to_keep)
        return _place_items(items, added, firm, [], people, settings, len(planned)), movable
    shares = _Shares([*assignments_to_keep, *movable], people, real)
    added = _fill(shares, people, settings, started)
    taken, moved = _level(movable, people, shares)
    extra = [p.item.id for p in items if p.purpose != "real"]
    return _place_items(items, [*added, *moved], existing, extra, people, settings), taken


class _Shares:
    """Who has what, while it is shared out.

    Attributes:
        real: The items to share out, by id.
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

    def in_common(self, person: str, item: str) -> int:
        """Items that a person has in common with those who have an item, summed over them."""
        return sum(self.common[frozenset((person, other))] for other in self.held[item] if other != person)


def _fill(
    shares: _Shares, people: Sequence[str], settings: AssignmentSettings, started: Collection[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Give every item that lacks people to those who have least to do.

    Of several, to the one who has fewest items in common with the people it has already, then to the one who has least
    of its stratum, then by a seed.
    """
    added: list[tuple[str, str]] = []
    for item in _order(shares.real, settings.name):
        stratum = shares.real[item].stratum
        while sum(p in people or (p, item) in started for p in shares.held[item]) < settings.overlap:
            rank = {
                p: (
                    shares.load[p],
                    shares.in_common(p, item),
                    shares.of_stratum[p, stratum],
                    seed(settings.name, item, p),
                )
                for p in people
                if p not in shares.held[item]
            }
            chosen = min(rank, key=lambda p: rank[p])
            shares.give(chosen, item)
            added.append((chosen, item))
    return added


def _keep_assignments(
    existing: Sequence[Assignment], started: Collection[tuple[str, str]], people: Sequence[str]
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


def _level(
    movable: Sequence[Assignment], people: Sequence[str], shares: _Shares
) -> tuple[list[Assignment], list[tuple[str, str]]]:
    """Move assignments of batches that have not begun from who has most to who has least.

    Of the assignments that can be moved, the one whose other people have fewest items in common with the receiver; of
    several, the last.
    """
    taken = [a for a in movable if a.person not in people]
    left = sorted((a for a in movable if a.person in people), key=lambda a: (a.batch, a.position))
    moves: list[tuple[str, str]] = []
    while True:
        receiver = min(people, key=lambda p: (shares.load[p], p))
        candidates = [
            a
            for a in reversed(left)
            if shares.load[a.person] - shares.load[receiver] >= 2 and receiver not in shares.held[a.item]
        ]
        if not candidates:
            return taken, moves
        chosen = min(candidates, key=lambda a: (-shares.load[a.person], shares.in_common(receiver, a.item), -a.batch))
        left.remove(chosen)
        taken.append(chosen)
        moves.append((receiver, chosen.item))
        shares.take(chosen.person, chosen.item)
        shares.give(receiver, chosen.item)


def pairs_in_words(assignments: Sequence[Assignment], items: Collection[str]) -> str:
    """How many of some items every two people have in common, in a sentence; empty for fewer than two people.

    Args:
        assignments: Of the campaign.
        items: Ids of the real items.

    Example:
        >>> both = [Assignment(p, "i", 1, 0) for p in ("ann", "bob")]
        >>> pairs_in_words(both, {"i"})
        'Every two raters have 1 item in common.'
        >>> pairs_in_words([*both, Assignment("cho", "j", 1, 0)], {"i", "j"})
        'Every two raters have 0 to 1 items in common; none: ann and cho, bob and cho.'
    """
    of_item: dict[str, set[str]] = defaultdict(set)
    for a in assignments:
        if a.item in items:
            of_item[a.item].add(a.person)
    people = sorted(set().union(*of_item.values()))
    pairs = list(combinations(people, 2))
    if not pairs:
        return ""
    common = Counter(pair for held in of_item.values() for pair in combinations(sorted(held), 2))
    counts = [common[pair] for pair in pairs]
    least, most = min(counts), max(counts)
    size = counted(least, "item") if least == most else f"{least} to {most} items"
    without = [f"{a} and {b}" for a, b in pairs if not common[a, b]]
    rest = f"; none: {', '.join(without)}" if without and most else ""
    return f"Every two raters have {size} in common{rest}."


def _place_items(
    items: Sequence[CampaignItem],
    added: Sequence[tuple[str, str]],
    existing: Sequence[Assignment],
    extra: Sequence[str],
    people: Sequence[str],
    settings: AssignmentSettings,
    planned: int = 0,
) -> list[Assignment]:
    """Positions and batches: training first, real items shuffled for each person, attention items among them.

    So many of the added ones as are planned come first, in their order.
    """
    purpose = {p.item.id: p.purpose for p in items}
    have = {(a.person, a.item) for a in existing}
    out = []
    for person in people:
        rng = random.Random(seed(settings.name, person, "order", str(sum(a.person == person for a in existing))))
        before = [a for a in existing if a.person == person]
        position = max((a.position for a in before), default=-1) + 1
        first = max((a.batch for a in before), default=0) + 1
        training = [i for i in extra if purpose[i] == "training" and (person, i) not in have]
        rng.shuffle(training)
        first_items = [item for who, item in added[:planned] if who == person]
        mine = [item for who, item in added[planned:] if who == person]
        rng.shuffle(mine)
        mine = first_items + mine
        for item in (i for i in extra if purpose[i] == "attention" and (person, i) not in have):
            mine.insert(rng.randrange(len(mine) + 1), item)
        out += [Assignment(person, item, 0, position + n) for n, item in enumerate(training)]
        position += len(training)
        out += [Assignment(person, item, first + n // settings.batch, position + n) for n, item in enumerate(mine)]
    return out
