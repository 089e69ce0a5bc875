"""A table of facts that answers paths ("B's league"): what held before the event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from schemas.facts import Entity, Fact, Object


class FactTable:
    """Facts by subject and relation. A fact that is to be edited counts with its old object, which held before.

    Args:
        facts: The facts; subjects are known by folded names, aliases and Wikidata ids.

    Example:
        >>> from schemas.facts import Relation, Source
        >>> more = {"change": "none", "source": Source(name="me", licence="CC0-1.0"), "prompt": "{} is in"}
        >>> lima, peru = Entity(text="Lima"), Object(text="Peru")
        >>> fact = Fact(key="f", subject=lima, relation=Relation(id="P17"), old=peru, **more)
        >>> FactTable([fact]).follow(Entity(text="LIMA"), ["P17"]).text
        'Peru'
    """

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._objects: dict[tuple[str, str], list[Object]] = defaultdict(list)
        for fact in facts:
            for name in fact.subject.compared_names:
                known = self._objects[name, fact.relation.id]
                if not any(fact.old.compared_names & one.compared_names for one in known):
                    known.append(fact.old)
        self.relations = frozenset(relation for _, relation in self._objects)

    def objects(self, subject: Entity, relation: str) -> tuple[Object, ...]:
        """All objects of a subject's relation, each once."""
        objects: list[Object] = []
        for name in sorted(subject.compared_names):
            for one in self._objects.get((name, relation), ()):
                if not any(one.compared_names & other.compared_names for other in objects):
                    objects.append(one)
        return tuple(objects)

    def follow(self, start: Entity, relations: Sequence[str]) -> Object | None:
        """Where a path leads; None where the table has no fact of a step, or several."""
        place: Entity = start
        for relation in relations:
            objects = self.objects(place, relation)
            if len(objects) != 1:
                return None
            place = objects[0]
        return place if isinstance(place, Object) else as_object(place)


def as_object(entity: Entity) -> Object:
    """An entity as the object of a relation."""
    return Object(text=entity.text, aliases=entity.aliases, wikidata=entity.wikidata)
