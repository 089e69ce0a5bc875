"""The k nearest subjects of the same relation with another object: neighbours of temporal edits (ScEdit §3.2.2, Eq. 4).

As in WikiFactDiff (Ammar Khodja et al., 2024), nearness is that of the subjects: of their names and of what else the
table says of them. Neither object of the edit may be an object of the neighbour. Subjects are compared within their
relation only, a block of edits at a time, so memory does not grow with the square of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from construction.neighbours.same_object import NeighbourCandidate, names, norm
from schemas.facts import Fact

if TYPE_CHECKING:
    from construction.neighbours.vectors import VectorSpace

DIGITS = 6  # of a distance; closer than that is a tie, which the keys decide
BLOCK = 2_000_000  # similarities held at once: 16 MB


class _SubjectRow(NamedTuple):
    """A subject of a relation: the fact that stands for it, its names, all objects that the table says it has."""

    fact: Fact
    subject: set[str]
    objects: set[str]


def nearest(
    edits: Sequence[Fact], table: Sequence[Fact], *, k: int, space: VectorSpace, block: int = BLOCK
) -> dict[str, list[NeighbourCandidate]]:
    """Up to ``k`` neighbour facts for each edit, the nearest first; equally near ones in order of their keys.

    Args:
        edits: Facts that are edited.
        table: All facts known; the edits may be among them.
        k: Neighbours an edit; fewer where the relation has fewer other subjects.
        space: Makes vectors of the subjects' texts.
        block: Similarities held at once.

    Returns:
        Neighbours with their distances (1 - cosine, rounded to 6 digits) by key of the edit, an entry for every edit.
    """
    import numpy as np

    drawn: dict[str, list[NeighbourCandidate]] = {edit.key: [] for edit in edits}
    groups, edits_of = _rows(table), _by_relation(edits)
    texts = subject_texts([*table, *edits])
    rows = [row for relation in edits_of for row in groups.get(relation, ())]
    if not rows:
        return drawn
    queries = [edit for relation in edits_of if groups.get(relation) for edit in edits_of[relation]]
    vectors, wanted = space.vectors([texts[_name(r.fact)] for r in rows], [texts[_name(e)] for e in queries])
    first = start = 0
    for relation in edits_of:
        group = groups.get(relation, [])
        if not group:
            continue
        index, here = _SubjectIndex(group), vectors[first : first + len(group)]
        step = max(1, block // len(group))
        for begin in range(0, len(edits_of[relation]), step):
            part = edits_of[relation][begin : begin + step]
            near = space.cosines(wanted[start + begin : start + begin + len(part)], here)
            for edit, row in zip(part, near, strict=True):
                row[index.barred(edit)] = -np.inf
                drawn[edit.key] = _choose_nearest(row, group, k=k, measure=space.measure)
        first, start = first + len(group), start + len(edits_of[relation])
    return drawn


def subject_texts(facts: Iterable[Fact]) -> dict[tuple[str, str], str]:
    """What is compared, by (relation, subject): the subject's names, and what facts of other relations say of it.

    The relation in question is left out: it is what differs between the edit and its neighbour.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> peru = dict(subject=Entity(text="Peru"), change="none", source=Source(name="me", licence="CC0"))
        >>> city = Fact(key="1", relation=Relation(id="P36"), prompt="{}'s city is", old=Object(text="Lima"), **peru)
        >>> coin = Fact(key="2", relation=Relation(id="P38"), prompt="{} pays in", old=Object(text="sol"), **peru)
        >>> subject_texts([city, coin])["P36", "peru"]
        'Peru. Peru pays in sol'
    """
    called: dict[str, dict[str, None]] = defaultdict(dict)
    statements: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for fact in sorted(facts, key=lambda f: f.key):
        subject = norm(fact.subject.text)
        called[subject].update(dict.fromkeys(fact.subject.names))
        statements[subject][fact.relation.id][f"{fact.fact_prompt} {fact.old.text}"] = None
    texts = {}
    for subject, relations in statements.items():
        for relation in relations:
            more = [line for other in sorted(relations) if other != relation for line in relations[other]]
            texts[relation, subject] = ". ".join([", ".join(called[subject]), *more])
    return texts


class _SubjectIndex:
    """Rows of a group by names of their subjects and by their objects: what an edit must not take."""

    def __init__(self, group: Sequence[_SubjectRow]) -> None:
        self._named: dict[str, list[int]] = defaultdict(list)
        self._having: dict[str, list[int]] = defaultdict(list)
        self._keys = {row.fact.key: place for place, row in enumerate(group)}
        for place, row in enumerate(group):
            for name in row.subject:
                self._named[name].append(place)
            for name in row.objects:
                self._having[name].append(place)

    def barred(self, edit: Fact) -> list[int]:
        places = [p for name in names(edit.subject) for p in self._named.get(name, ())]
        places += [p for name in names(edit.old, edit.new) for p in self._having.get(name, ())]
        return places + ([self._keys[edit.key]] if edit.key in self._keys else [])


def _name(fact: Fact) -> tuple[str, str]:
    return fact.relation.id, norm(fact.subject.text)


def _rows(table: Iterable[Fact]) -> dict[str, list[_SubjectRow]]:
    """The subjects of each relation, in order of the keys of the facts that stand for them."""
    groups: dict[str, dict[str, _SubjectRow]] = defaultdict(dict)
    for fact in sorted(table, key=lambda f: f.key):
        row = groups[fact.relation.id].setdefault(norm(fact.subject.text), _SubjectRow(fact, set(), set()))
        row.subject.update(names(fact.subject))
        row.objects.update(names(fact.old, fact.new if fact.change == "temporal" else None))
    return {relation: list(group.values()) for relation, group in groups.items()}


def _by_relation(edits: Iterable[Fact]) -> Mapping[str, list[Fact]]:
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for edit in edits:
        by_relation[edit.relation.id].append(edit)
    return {relation: by_relation[relation] for relation in sorted(by_relation)}


def _distance(cosine: float) -> float:
    return round(max(0.0, 1.0 - cosine), DIGITS)


def _choose_nearest(row: Any, group: Sequence[_SubjectRow], *, k: int, measure: str) -> list[NeighbourCandidate]:
    """The k rows of the highest cosine, ties by key: rows stand in order of their keys."""
    return [NeighbourCandidate(group[p].fact, "near_subject", d, measure) for d, p in sorted(_candidates(row, k))[:k]]


def _candidates(row: Any, k: int) -> Iterator[tuple[float, int]]:
    import numpy as np

    if k < len(row):
        bound = np.partition(row, len(row) - k)[len(row) - k] - 10.0**-DIGITS  # all that could tie with the last one
    else:
        bound = -np.inf
    for place in np.flatnonzero((row >= bound) & (row > -np.inf)):
        yield _distance(float(row[place])), int(place)
