"""Train, development and test parts that share nothing: no subject, no relation, no edited fact, as asked for.

Cases that share a value are connected, directly or through others, and a connected group goes to one part as a whole.
The draw is seeded and does not depend on the order of the cases.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from curation.stats.estimates import connected_groups
from schemas.cases import AnyCase, Case, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed as draw
from schemas.core.plain_text import plain_text
from schemas.facts import Fact
from schemas.text.counting import counted

log = logging.getLogger(__name__)

By = Literal["subject", "relation", "fact", "object", "type"]
BY = ("subject", "relation", "fact", "object", "type")
How = Literal["hash", "balanced"]
_SPACE = float(2**63)


class Partition(NamedTuple):
    """Which part each case is in.

    Attributes:
        part: Part by case (or fact) key, in order of the keys.
        group: Name of the connected group by key: the smallest key in it.
        counts: Cases by part, every part named, in the given order.
        wordings: Relations that have no id but the wording of their prompt, where parts may not share a relation.
        joined: How many are left of these (and the ids that they may be) when joined by shared subjects and objects.
    """

    part: dict[str, str]
    group: dict[str, str]
    counts: dict[str, int]
    wordings: int = 0
    joined: int = 0


def relation_groups(facts: Iterable[Fact]) -> dict[str, str]:
    """Relations that may be one, by id: wordings (``template:...``) that share a subject and old object with another.

    Empty where every relation has an id. Two wordings of one relation that share no pair stay apart: nobody can know.
    """
    pairs: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for fact in facts:
        old = sorted(fact.old.compared_names)
        pairs[fact.relation.id] |= {(subject, name) for subject in fact.subject.compared_names for name in old}
    return _group_names(pairs) if any(is_wording(relation) for relation in pairs) else {}


def is_wording(relation: str) -> bool:
    """Whether a relation's id is only the wording of its prompt."""
    return relation.startswith("template:")


def shared_values(
    case: AnyCase | Fact, by: Iterable[str], *, relations: Mapping[str, str] | None = None, neighbours: bool = False
) -> Iterator[tuple[str, ...]]:
    """The values by which a case or fact is connected with others.

    ``fact`` is subject and relation: two edits of one subject's capital are one edited fact, whatever the objects.
    Of an event, ``type`` is its type or topic, ``subject`` who it and its factual questions in scope are about, and
    the others are those of these questions (``unknown`` is no object). Of a document, ``subject`` is what it is about;
    equal documents are connected, too.

    Args:
        case: A case, or a fact alone.
        by: Names in ``BY``.
        relations: The group of relations that each is in (``relation_groups``).
        neighbours: Also those of the neighbour facts in a case.

    Raises:
        UserError: a name that means nothing for such a case.
    """
    values: dict[str, Iterable[tuple[str, ...]]]
    if isinstance(case, DocumentCase):
        values = {"subject": [("subject", plain_text(entity)) for entity in case.document.names]}
        yield ("text", plain_text(case.document.text))
    elif isinstance(case, EventCase):
        asked = [q for q in case.facts if q.scope == "in"]
        subjects = [role.entity for role in case.event.roles] + [q.subject for q in asked if q.subject is not None]
        values = {
            "type": [("type", case.event.type)],
            "subject": [("subject", x) for entity in subjects for x in entity.compared_names],
            "relation": [("relation", q.relation.id) for q in asked],
            "fact": [("fact", x, q.relation.id) for q in asked if q.subject for x in q.subject.compared_names],
            "object": [("object", x) for q in asked if not q.unknown for x in q.answer.compared_names],
        }
    else:
        facts = list(_facts(case, neighbours=neighbours))
        of = {fact.key: (relations or {}).get(fact.relation.id, fact.relation.id) for fact in facts}
        objects = [one for fact in facts for one in (fact.old, fact.new) if one is not None]
        values = {
            "subject": [("subject", x) for fact in facts for x in fact.subject.compared_names],
            "relation": [("relation", of[fact.key]) for fact in facts],
            "fact": [("fact", x, of[fact.key]) for fact in facts for x in fact.subject.compared_names],
            "object": [("object", x) for one in objects for x in one.compared_names],
        }
    for name in by:
        if name not in values:
            kind = "fact" if isinstance(case, Fact) else case.request.kind
            raise UserError(f"{kind}s have no '{name}' to separate by", allowed=", ".join(values))
        yield from values[name]


def separate(
    cases: Iterable[AnyCase | Fact],
    *,
    by: Iterable[By] = ("subject",),
    parts: Mapping[str, float],
    seed: str = "0",
    strategy: How = "balanced",
    neighbours: bool = False,
) -> Partition:
    """Put cases (or facts) into parts that share none of the values named in ``by``.

    Args:
        cases: Each key once.
        by: Subjects are compared by folded names, aliases and Wikidata id. With several, cases are connected that
            share any of them, so nothing of any kind is shared across parts. ``type`` is for events.
        parts: Share of the cases by part; the shares sum to 1.
        seed: Another seed draws another division.
        strategy: ``hash`` draws each group by its name, so that cases added later move nobody else (unless they join
            two groups), and the shares are met on average. ``balanced`` puts the largest groups first where most is
            missing and meets the shares as closely as the groups allow.
        neighbours: Also connect through the neighbour facts inside cases.

    Raises:
        UserError: the shares are not shares, or a part stays empty because too much is connected.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> more = {"relation": Relation(id="P36"), "source": Source(name="me", licence="CC0-1.0"), "change": "none"}
        >>> def capital(country, city):
        ...     return Fact(key=city, subject=Entity(text=country), prompt="{}:", old=Object(text=city), **more)
        >>> facts = [capital("Peru", "Lima"), capital("PERU", "Cusco"), capital("Chile", "Santiago")]
        >>> separate(facts, by=["subject"], parts={"train": 0.6, "test": 0.4}).part
        {'Cusco': 'train', 'Lima': 'train', 'Santiago': 'test'}
    """
    _check(parts)
    by = tuple(by)
    if not by:
        raise UserError("nothing is named to separate by", allowed=", ".join(BY))
    cases = cases if isinstance(cases, Sequence) else list(cases)
    of_relation = bool({"relation", "fact"} & set(by))
    relations = relation_groups(f for c in cases for f in _facts(c, neighbours=neighbours)) if of_relation else {}
    group = _group_names({c.key: set(shared_values(c, by, relations=relations, neighbours=neighbours)) for c in cases})
    sizes = Counter(group.values())
    placed = (_by_hash if strategy == "hash" else _balanced)(sizes, parts, seed)
    part = {key: placed[group[key]] for key in sorted(group)}
    counts = {name: 0 for name in parts} | Counter(part.values())
    _check_sizes(counts, parts, sizes, by)
    worded = [relations[r] for r in relations if is_wording(r)]
    return Partition(part, {key: group[key] for key in part}, counts, len(worded), len(set(worded)))


def _check_sizes(
    counts: Mapping[str, int], parts: Mapping[str, float], sizes: Mapping[str, int], by: Iterable[By]
) -> None:
    """Refuse an empty part; warn of one that is more than five points from its share."""
    total = sum(counts.values())
    empty = [name for name, n in counts.items() if not n]
    if empty:
        largest = max(sizes.values(), default=0)
        raise UserError(
            f"the part '{empty[0]}' would be empty: {counted(total, 'case')} form {counted(len(sizes), 'group')}, the "
            f"largest of {largest:,}; no two groups share a {' or '.join(by)}",
            fix="separate by less, or into fewer parts",
        )
    for name, share in parts.items():
        held = counts[name] / total
        if abs(held - share) > 0.05:
            log.warning("part %s holds %.1f %% of the cases, not %.1f %%", name, 100 * held, 100 * share)


def _group_names(values: Mapping[str, Iterable[tuple[str, ...]]]) -> dict[str, str]:
    """The group of every key, named by its smallest key."""
    return {key: group[0] for group in connected_groups(values) for key in group}


def _facts(case: AnyCase | Fact, *, neighbours: bool) -> Iterator[Fact]:
    if isinstance(case, EventCase | DocumentCase):
        return
    yield case.fact if isinstance(case, Case) else case
    if neighbours and isinstance(case, Case):
        yield from (n.fact for n in case.neighbours)


def _check(parts: Mapping[str, float]) -> None:
    total = math.fsum(parts.values())
    if not parts or min(parts.values()) <= 0 or abs(total - 1) > 1e-6:
        shares_text = ", ".join(f"{k} {v:g}" for k, v in parts.items()) or "nothing"
        raise UserError(f"the parts ({shares_text}) are no shares of a whole", allowed="positive numbers that sum to 1")


def _by_hash(sizes: Mapping[str, int], parts: Mapping[str, float], seed: str) -> dict[str, str]:
    names, ends = list(parts), list(accumulate(parts.values()))
    return {group: names[bisect_right(ends[:-1], draw("separate", seed, group) / _SPACE)] for group in sizes}


def _balanced(sizes: Mapping[str, int], parts: Mapping[str, float], seed: str) -> dict[str, str]:
    total = sum(sizes.values())
    held: dict[str, int] = defaultdict(int)
    out = {}
    for group in sorted(sizes, key=lambda g: (-sizes[g], draw("separate", seed, g))):
        # most is missing, in cases; of equal ones the earlier named
        out[group] = max(parts, key=lambda name: parts[name] * total - held[name])
        held[out[group]] += sizes[group]
    return out
