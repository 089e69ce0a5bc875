"""The file of templates (TOML): templates, the wording of questions by relation, entities by type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field, model_validator

from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.records import Key, Text
from schemas.events.template import PLACE, EventTemplate
from schemas.facts import Entity, Fact, Object, Relation, Source


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


class RelationWording(Options):
    """How a relation is asked for; which wording is taken is drawn for each question.

    Attributes:
        id: Wikidata property, or a name.
        label: Of the relation.
        questions: Wordings with the place ``{subject}``.
        background: Wordings, with the same place, that ask for the relation as world knowledge, without the event.
            A question whose answer stands at the end of a path has background questions where every relation of the
            path has such wordings.
    """

    id: Key
    label: str = ""
    questions: tuple[Text, ...] = Field(min_length=1)
    background: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _subject(self) -> RelationWording:
        for text in (*self.questions, *self.background):
            if set(PLACE.findall(text)) != {"subject"}:
                raise ValueError(f"a question has the place {{subject}} and no other: {text!r}")
        return self

    @property
    def relation(self) -> Relation:
        """The relation itself."""
        return Relation(id=self.id, label=self.label)


class TypedEntity(Options):
    """An entity that can fill a place.

    Attributes:
        type: As places name it.
        name: The entity.
        frequency: How often it occurs, by which it is drawn; capped at the draw.
    """

    type: Text
    name: Text
    aliases: tuple[Text, ...] = ()
    wikidata: str | None = None
    frequency: float = Field(default=1.0, gt=0)

    @property
    def entity(self) -> Entity:
        """The entity without type and frequency."""
        return Entity(text=self.name, aliases=self.aliases, wikidata=self.wikidata)


class TemplateFile(Options):
    """What a file of templates holds.

    Attributes:
        source: Where the events made of it come from, and their licence.
        template: The templates.
        relation: How questions are worded, one entry a relation.
        entity: What fills the places.
    """

    source: Source
    template: tuple[EventTemplate, ...] = Field(min_length=1)
    relation: tuple[RelationWording, ...] = ()
    entity: tuple[TypedEntity, ...] = ()

    def wording(self, relation: str) -> RelationWording | None:
        """How a relation is asked for."""
        return next((r for r in self.relation if r.id == relation), None)

    def of_type(self, type: str) -> list[TypedEntity]:
        """The entities of a type, by name."""
        return sorted((e for e in self.entity if e.type == type), key=lambda e: e.name)

    @model_validator(mode="after")
    def _once(self) -> TemplateFile:
        for what, names in (
            ("template", [t.name for t in self.template]),
            ("relation", [r.id for r in self.relation]),
            ("entity", [f"{e.name} ({e.type})" for e in self.entity]),
        ):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"the {what} '{twice[0]}' stands twice")
        return self

    @model_validator(mode="after")
    def _complete(self) -> TemplateFile:
        for template in self.template:
            for place in template.places.values():
                if not self.of_type(place.type):
                    raise ValueError(f"template '{template.name}': there is no entity of the type '{place.type}'")
            relations = [
                *(t.relation for t in template.impacted if t.definite),
                *(t.relation for t in template.untouched),
            ]
            for relation in relations:
                if self.wording(relation) is None:
                    raise ValueError(f"template '{template.name}': no question is worded for the relation '{relation}'")
        return self


def read_templates(path: Path, table: FactTable) -> TemplateFile:
    """A file of templates, whose paths the table of facts can answer.

    Raises:
        UserError: the file cannot be read; a place has no type, a role or relation is not known, a relation is impacted
            and untouched; or a path leads over a relation of which the table has no fact.
    """
    file = validate(TemplateFile, read_toml(path), where=str(path))
    for template in file.template:
        for followed in template.paths:
            for relation in followed.relations:
                if relation not in table.relations:
                    name = ".".join((followed.role, *followed.relations))
                    raise UserError(
                        f"the path '{name}' has no fact: the table knows no '{relation}' of anything",
                        where=f"{path}, template '{template.name}'",
                        allowed=", ".join(sorted(table.relations)) or "nothing, as there are no facts",
                        fix="name a file with such facts: --facts-from FILE",
                    )
    return file
