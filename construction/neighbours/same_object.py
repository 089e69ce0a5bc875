"""Neighbour facts that an edit must not move: who draws them, and those with the same old object (ScEdit §3.1, Eq. 3).

A counterfactual edit takes facts with its relation and old object, by a seeded draw. A temporal edit takes the nearest
subjects of its relation that have another object (§3.2.2, Eq. 4): see ``neighbours_near``.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from schemas.core.ids import seed
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour

PROPERTY = re.compile(r"P\d+")
"""Id of a property of Wikidata."""


class NeighbourCandidate(NamedTuple):
    """A neighbour fact, and how it was found; ``distance`` and ``measure`` as in ``Neighbour``."""

    fact: Fact
    how: Literal["same_object", "near_subject"] = "same_object"
    distance: float | None = None
    measure: str | None = None


@lru_cache(maxsize=1 << 16)
def norm(text: str) -> str:
    """A name for comparison: compatibility forms, case and spacing aside.

    Example:
        >>> norm("  São  PAULO")
        'são paulo'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def names(*named: Entity | str | None) -> set[str]:
    """All names of entities, and of names themselves, for comparison."""
    keys: set[str] = set()
    for one in named:
        if isinstance(one, str):
            keys.add(norm(one))
        elif one is not None:
            keys.update(map(norm, one.names))
    return keys


def with_known_relations(facts: Iterable[Fact], table: Iterable[Fact]) -> Iterator[Fact]:
    """The facts with the property of Wikidata as relation where theirs is only called as one of the table's.

    So a fact of one's own about a "capital" finds the neighbours of P36.

    Args:
        facts: Facts, some of which name their relation in words.
        table: All facts known.
    """
    known = {norm(fact.relation.label): fact.relation for fact in table if PROPERTY.fullmatch(fact.relation.id)}
    for fact in facts:
        relation = known.get(norm(fact.relation.label or fact.relation.id))
        if relation is None or PROPERTY.fullmatch(fact.relation.id):
            yield fact
        else:
            yield fact.model_copy(update={"relation": relation})


class SubjectRow(NamedTuple):
    """A fact of the table, the names of its subject, and the names of all objects that the table says of it."""

    fact: Fact
    subject: set[str]
    objects: set[str]

    def fits(self, edit: str, subject: set[str], unwanted: set[str]) -> bool:
        """Whether an edit may take it: it is another fact, of another subject, and has no unwanted object."""
        return self.fact.key != edit and subject.isdisjoint(self.subject) and unwanted.isdisjoint(self.objects)


def draw_same_object(edits: Iterable[Fact], table: Sequence[Fact], *, k: int) -> dict[str, list[Fact]]:
    """Up to ``k`` neighbour facts with the same old object for each edit, drawn from a table of facts.

    The table is looked through once; a draw then costs what it draws, whatever the table's size.

    Args:
        edits: Facts that are edited.
        table: All facts known; the edits may be among them.
        k: Neighbours an edit; fewer where the table holds fewer.

    Returns:
        Neighbour facts by key of the edit, with an entry for every edit.
    """
    groups: dict[tuple[str, str], dict[str, SubjectRow]] = defaultdict(dict)
    objects: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in sorted(table, key=lambda f: f.key):
        relation, subject, old = fact.relation.id, norm(fact.subject.text), norm(fact.old.text)
        known = objects[relation, subject]  # one set a subject: it holds what later facts say, too
        known.update({old}, names(*fact.old.aliases, fact.new if fact.change == "temporal" else None))
        groups[relation, old].setdefault(subject, SubjectRow(fact, {subject, *names(*fact.subject.aliases)}, known))
    rows = {place: list(group.values()) for place, group in groups.items()}
    return {edit.key: _draw(edit, rows.get((edit.relation.id, norm(edit.old.text)), []), k) for edit in edits}


def _draw(edit: Fact, group: Sequence[SubjectRow], k: int) -> list[Fact]:
    """Up to ``k`` facts of a group with the relation and old object of an edit and another subject.

    The draw depends on the edit's key and on which facts are eligible, not on their order or on other edits. A subject
    of which the table also says the new object is no neighbour: it would not have to stay.
    """
    rng = random.Random(seed("neighbours", edit.key))
    places = rng.sample(range(len(group)), min(len(group), k + 1))  # one more, in case the edit itself is drawn
    subject_names, unwanted = names(edit.subject), names(edit.new)
    chosen = [group[p].fact for p in places if group[p].fits(edit.key, subject_names, unwanted)]
    if len(chosen) < k and len(places) < len(group):
        rest = sorted(set(range(len(group))) - set(places))
        rng.shuffle(rest)
        fitting = (group[p].fact for p in rest if group[p].fits(edit.key, subject_names, unwanted))
        chosen += islice(fitting, k - len(chosen))
    return chosen[:k]


def source_neighbours(
    edits: Iterable[Fact], records: Iterable[Record], *, k: int
) -> dict[str, list[NeighbourCandidate]]:
    """The neighbours that the facts' source names itself, the nearest first (WikiFactDiff and ScEdit-T bring them).

    Args:
        edits: Facts that are edited.
        records: What a loader found beside the facts: neighbour facts and links.
        k: Neighbours an edit.
    """
    facts: dict[str, Fact] = {}
    links: dict[str, list[Neighbour]] = defaultdict(list)
    for record in records:
        if isinstance(record, Fact):
            facts[record.key] = record
        elif isinstance(record, Neighbour):
            links[record.edit].append(record)
    drawn = {}
    for edit in edits:
        nearest = sorted(links[edit.key], key=lambda x: (x.distance is None, x.distance or 0.0, x.key))
        found = [NeighbourCandidate(facts[x.fact], x.how, x.distance, x.measure) for x in nearest if x.fact in facts]
        drawn[edit.key] = found[:k]
    return drawn


def link(edit: Fact, neighbour: Fact | NeighbourCandidate) -> Neighbour:
    """The record that says: editing ``edit`` must not move ``neighbour``."""
    drawn = neighbour if isinstance(neighbour, NeighbourCandidate) else NeighbourCandidate(neighbour)
    return Neighbour(
        key=f"{edit.key}~{drawn.fact.key}",
        edit=edit.key,
        fact=drawn.fact.key,
        how=drawn.how,
        distance=drawn.distance,
        measure=drawn.measure,
    )
