"""Mentions of an object in a text, each with how sure it is and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from construction.mentions.longer_names import longer_name
from construction.mentions.rules import RULES, Rules
from construction.mentions.spelling import read_spelling
from schemas.facts import Entity
from schemas.text.mentions import Mention, find


class ObjectMention(NamedTuple):
    """A place where an object is, or seems to be, mentioned.

    Attributes:
        mention: The place and the name that was found there.
        label: ``name``: the object is meant. ``unsure``: for people to decide. ``word``: it is not meant.
        why: What speaks against a plain mention; empty where nothing does.
        fits: Whether the object itself could stand at this place, so that a script can be cut here.
    """

    mention: Mention
    label: Literal["name", "unsure", "word"]
    why: str = ""
    fits: bool = True


def find_object(
    text: str, entity: Entity, *, beside: Iterable[Entity | None] = (), rules: Rules = RULES
) -> tuple[ObjectMention, ...]:
    """All places where an object is or seems to be mentioned, in order, none overlapping.

    Args:
        text: Where to look.
        entity: The object.
        beside: Others who may be meant; what is only part of a longer mention of one of them is theirs.
        rules: Version of the rules; under the first every place is a plain mention.

    Example:
        >>> from schemas.facts import Object
        >>> [(m.mention.text, m.label) for m in find_object("Leave the square, go to Square", Object(text="Square"))]
        [('square', 'word'), ('Square', 'name')]
    """
    found = find(text, entity, beside=beside)
    if rules == 1:
        return tuple(ObjectMention(m, "name") for m in found)
    return tuple(_read(text, m, entity) for m in found)


def _read(text: str, mention: Mention, entity: Entity) -> ObjectMention:
    reading = read_spelling(text, mention.start, mention.end, mention.name)
    if reading.label == "word":
        return ObjectMention(mention, "word", reading.why)
    longer = longer_name(text, mention.start, mention.end, names=entity.names)
    if longer is not None:
        return ObjectMention(mention, "unsure", f"'{mention.text}' is part of a longer name, '{longer}'")
    return ObjectMention(mention, reading.label, reading.why)
