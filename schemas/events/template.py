"""Templates of events: a sentence with typed places, what it changes, what it leaves alone (ELKEN App. A.1)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from schemas.core.records import Frozen, Key, Text
from schemas.events.questions import UNKNOWN

PLACE = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")
"""A place in a template's text: ``{A}``."""


class TemplatePlace(Frozen):
    """A place that an entity fills.

    Attributes:
        type: Which list of entities fills it ("club").
        role: What the entity is in the event, as MAVEN and ACE call it ("Destination"); the place's name without one.
    """

    type: Text
    role: Text | None = None


class EntityPath(Frozen):
    """A role, and the relations that lead from its entity to another: ``B.P118`` is B's league.

    Example:
        >>> EntityPath.parse("B.P118")
        EntityPath(role='B', relations=('P118',))
    """

    role: Text
    relations: tuple[Key, ...] = ()

    @classmethod
    def parse(cls, text: str) -> EntityPath:
        """The path in a text such as ``B`` or ``B.P118``."""
        role, *relations = text.split(".")
        return cls(role=role, relations=tuple(relations))


class ImpactedTriplet(Frozen):
    """What an event changes: a role's relation has another object afterwards.

    Attributes:
        role: Whose relation.
        relation: Wikidata property, or a name.
        object: The object afterwards: a role (``B``), a path (``B.P118``) or ``unknown``.
        definite: Whether it changes for certain; only then questions are made of it.
        found_by: Who listed it, where several people did.
    """

    role: Text
    relation: Key
    object: Text
    definite: bool = True
    found_by: tuple[Text, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether the old object is gone and no new one is given."""
        return self.object.casefold() == UNKNOWN

    @property
    def path(self) -> EntityPath:
        """Where the new object is found; of one that is not ``unknown``."""
        return EntityPath.parse(self.object)


class UntouchedRelation(Frozen):
    """A role's relation that the event leaves alone."""

    role: Text
    relation: Key


class FeasibilityRule(Frozen):
    """What has to hold of the entities, or the event cannot happen.

    Attributes:
        rule: ``absent``: the role has no such relation (a living person has no date of death). ``differ``: no fact says
            that it has it with the entity of ``other`` already. ``same``: both roles have an equal object (the same
            sport).
        role: Whose relation.
        relation: Wikidata property, or a name.
        other: The second role, of ``differ`` and ``same``.
    """

    rule: Literal["absent", "differ", "same"]
    role: Text
    relation: Key
    other: Text | None = None

    @model_validator(mode="after")
    def _second_role(self) -> FeasibilityRule:
        if (self.other is None) != (self.rule == "absent"):
            need = "takes no second role ('other')" if self.rule == "absent" else "needs a second role ('other')"
            raise ValueError(f"the rule '{self.rule}' {need}")
        return self


def _as_place(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


class EventTemplate(Frozen):
    """An event type's template.

    Attributes:
        name: Of the template.
        type: Event type of the events.
        text: The event in words, with places such as ``{A}``.
        places: What fills the places; roles that are not in the text may be here, too.
        derived: Roles that follow from others by a path: ``C = "A.P54"`` is A's club before the event.
        impacted: What the event changes.
        untouched: What it leaves alone.
        feasible: When it can happen.

    Example:
        >>> owner = ImpactedTriplet(role="B", relation="P127", object="A")
        >>> places = {"A": TemplatePlace(type="firm"), "B": TemplatePlace(type="firm")}
        >>> EventTemplate(name="t", type="sale", text="{A} bought {B}.", places=places, impacted=(owner,)).roles
        ('A', 'B')
    """

    name: Key
    type: Text
    text: Text
    places: dict[str, Annotated[TemplatePlace, BeforeValidator(_as_place)]]
    derived: dict[str, Text] = {}
    impacted: tuple[ImpactedTriplet, ...] = ()
    untouched: tuple[UntouchedRelation, ...] = ()
    feasible: tuple[FeasibilityRule, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of all roles: those that are drawn, then those that are derived."""
        return (*self.places, *self.derived)

    def role_name(self, role: str) -> str:
        """What a role is called in the event."""
        place = self.places.get(role)
        return place.role if place is not None and place.role else role

    @property
    def paths(self) -> tuple[EntityPath, ...]:
        """Every path that is followed from a role: of derived roles, then of impacted triplets."""
        followed = [t.path for t in self.impacted if not t.unknown and t.definite and t.path.relations]
        return (*map(EntityPath.parse, self.derived.values()), *followed)

    @model_validator(mode="after")
    def _typed_places(self) -> EventTemplate:
        named = dict.fromkeys(PLACE.findall(self.text))
        if untyped := [name for name in named if name not in self.roles]:
            raise ValueError(
                f"the place {{{untyped[0]}}} of the template '{self.name}' has no type: "
                f"say under 'places' what fills it, or under 'derived' where it comes from"
            )
        if not named:
            raise ValueError(f"the text of the template '{self.name}' has no place such as {{A}}: nothing can fill it")
        if twice := sorted(set(self.places) & set(self.derived)):
            raise ValueError(f"the role '{twice[0]}' is drawn and derived: one of them")
        return self

    @model_validator(mode="after")
    def _known_roles(self) -> EventTemplate:
        used = [p.role for p in self.paths]
        used += [*(t.role for t in self.impacted), *(t.role for t in self.untouched), *(r.role for r in self.feasible)]
        used += [t.path.role for t in self.impacted if not t.unknown]
        used += [rule.other for rule in self.feasible if rule.other]
        if strangers := [role for role in used if role not in self.roles]:
            raise ValueError(f"there is no role '{strangers[0]}' (there are {', '.join(self.roles)})")
        for role, text in self.derived.items():
            path = EntityPath.parse(text)
            if path.role not in self.places or not path.relations:
                raise ValueError(f"the derived role '{role}' has to lead from a drawn one, such as 'A.P54'")
        return self

    @model_validator(mode="after")
    def _one_scope(self) -> EventTemplate:
        changed = {(t.role, t.relation) for t in self.impacted}
        for relation_out in self.untouched:
            if (relation_out.role, relation_out.relation) in changed:
                raise ValueError(
                    f"the relation '{relation_out.relation}' of '{relation_out.role}' is impacted and untouched: "
                    f"its question would be in and out of scope"
                )
        certain = [(t.role, t.relation) for t in self.impacted if t.definite]
        if twice := next((one for one in certain if certain.count(one) > 1), None):
            raise ValueError(
                f"the relation '{twice[1]}' of '{twice[0]}' is impacted twice: its question would have two answers"
            )
        if not self.impacted:
            raise ValueError(f"the template '{self.name}' changes nothing: list what is impacted")
        return self
