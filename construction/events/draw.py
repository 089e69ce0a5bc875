"""Events of templates: entities drawn in proportion to how often they occur, what cannot happen left out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from construction.events.defaults import CAP
from construction.events.templates import FactTable, TemplateFile
from schemas.core.ids import digest, seed, slug
from schemas.events.event import Event, EventRole
from schemas.events.template import PLACE, EntityPath, EventTemplate, FeasibilityRule
from schemas.facts import Entity, Source

TRIES, LEAST = 30, 2000
"""Draws for each event that is wanted, and for a template at least; then the lists hold no more."""


class FilledTemplate(NamedTuple):
    """A template with the entity of each role."""

    template: EventTemplate
    roles: Mapping[str, Entity]

    @property
    def key(self) -> str:
        """Key of the event: its type, and a hash of the template's name and its entities."""
        parts = [self.template.name, *(f"{role}={self.roles[role].text}" for role in self.template.roles)]
        return f"events/{slug(self.template.type)}/{digest(parts)[:10]}"

    @property
    def text(self) -> str:
        """The event in words."""
        return PLACE.sub(lambda m: self.roles[m[1]].text, self.template.text)

    def event(self, source: Source) -> Event:
        """The event as the template words it."""
        named = tuple(EventRole(role=self.template.role_name(r), entity=e) for r, e in self.roles.items())
        t = self.template
        return Event(key=self.key, text=self.text, type=t.type, origin="template", template=t.name, roles=named,
                     source=source)  # fmt: skip


class Draw(NamedTuple):
    """What a template came to.

    Attributes:
        events: As many as were wanted, or as the lists of entities hold.
        drawn: Draws in all; ``infeasible`` of them by reason, the rest drawn before.
    """

    events: tuple[FilledTemplate, ...]
    drawn: int
    infeasible: dict[str, int]


def draw_events(
    template: EventTemplate, lists: TemplateFile, table: FactTable, *, count: int, cap: float = CAP, number: str = "0"
) -> Draw:
    """Different events of a template.

    The draw depends on the template's name, its entities and ``number``, not on other templates or on the order of
    lists.

    Args:
        template: The template.
        lists: Where its entities stand.
        table: What holds before the event.
        count: How many events.
        cap: An entity's frequency counts up to this.
        number: Another number draws other events.

    Raises:
        UserError: a list is empty.
    """
    rng = random.Random(seed("events", template.name, number))
    choices = {role: lists.of_type(place.type) for role, place in template.places.items()}
    weights = {role: [min(one.frequency, cap) for one in entities] for role, entities in choices.items()}
    by_key: dict[str, FilledTemplate] = {}
    infeasible: Counter[str] = Counter()
    drawn = 0
    while len(by_key) < count and drawn < max(LEAST, TRIES * count):
        drawn += 1
        roles = {role: rng.choices(choices[role], weights[role])[0].entity for role in choices}
        if reason := _add_derived(roles, template, table) or _why_infeasible(roles, template, table):
            infeasible[reason] += 1
            continue
        filled = FilledTemplate(template, roles)
        by_key.setdefault(filled.key, filled)
    return Draw(tuple(by_key.values()), drawn, dict(sorted(infeasible.items())))


def _add_derived(roles: dict[str, Entity], template: EventTemplate, table: FactTable) -> str:
    """Add the derived roles; why one cannot be found."""
    for role, text in template.derived.items():
        path = EntityPath.parse(text)
        end = table.follow(roles[path.role], path.relations)
        if end is None:
            return f"no single fact says what {role} ({text}) is"
        roles[role] = Entity(text=end.text, aliases=end.aliases, wikidata=end.wikidata)
    return ""


def _why_infeasible(roles: Mapping[str, Entity], template: EventTemplate, table: FactTable) -> str:
    """Why the event cannot happen; empty where it can."""
    for one, other in combinations(roles, 2):
        if roles[one].compared_names & roles[other].compared_names:
            return f"{one} and {other} are the same"
    for rule in template.feasible:
        if reason := _broken(rule, roles, table):
            return reason
    return ""


def _broken(rule: FeasibilityRule, roles: Mapping[str, Entity], table: FactTable) -> str:
    objects = table.objects(roles[rule.role], rule.relation)
    if rule.rule == "absent":
        return f"{rule.role} has a '{rule.relation}'" if objects else ""
    assert rule.other is not None
    names = set().union(*(one.compared_names for one in objects)) if objects else set()
    if rule.rule == "differ":
        same = names & roles[rule.other].compared_names
        return f"the '{rule.relation}' of {rule.role} is {rule.other} already" if same else ""
    others = table.objects(roles[rule.other], rule.relation)
    shared = any(names & one.compared_names for one in others)
    return "" if shared else f"{rule.role} and {rule.other} have no '{rule.relation}' in common"
