"""Mentions of an object in a text, each with how sure it is and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from construction.mentions.disguised_names import plain_letters
from construction.mentions.longer_names import longer_name, set_phrase, small_longer_name
from construction.mentions.money_signs import money_signs
from construction.mentions.name_forms import FormKind, NameForm, name_forms
from construction.mentions.namesakes import namesake
from construction.mentions.other_uses import counted_thing
from construction.mentions.spelling import Reading, read_spelling
from schemas.facts import Entity, Relation
from schemas.text.mentions import Mention, find

_SHORT = 4  # letters; a form as short as that keeps its capital
_WITHIN = re.compile(  # apostrophes within a word, contractions aside
    "[\u02bb\u02be\u02bf]|(?<=[^\\W\\d_])[\u02bc\u2018\u2019'`](?=[^\\W\\d_])(?!(?:s|t|d|m|ll|re|ve)\\b)"
)


class ObjectMention(NamedTuple):
    """A place where an object is, or seems to be, mentioned.

    Attributes:
        mention: The place and the name that was found there.
        label: ``name``: the object is meant. ``unsure``: for people to decide. ``word``: it is not meant.
        why: What speaks against a plain mention; empty where nothing does.
        fits: Whether the object itself could stand at this place, so that a script can be cut here.
        kind: ``name`` for a name of the fact and its spellings, else the kind of the form that stands here.
    """

    mention: Mention
    label: Literal["name", "unsure", "word"]
    why: str = ""
    fits: bool = True
    kind: FormKind = "name"


def find_object(
    text: str,
    entity: Entity,
    *,
    beside: Iterable[Entity | None] = (),
    relation: Relation | None = None,
    near: Iterable[str] = (),
) -> tuple[ObjectMention, ...]:
    """All places where an object is or seems to be mentioned, in order, none overlapping.

    Args:
        text: Where to look.
        entity: The object.
        beside: Others who may be meant; what is only part of a longer mention of one of them is theirs.
        relation: The relation it is the object of; it may say that the object is a person.
        near: Names whose words, directly beside the object, make no longer name of it (the subject's).

    Example:
        >>> from schemas.facts import Object
        >>> [(m.mention.text, m.label) for m in find_object("Leave the square, go to Square", Object(text="Square"))]
        [('square', 'word'), ('Square', 'name')]
        >>> [(m.mention.text, m.fits) for m in find_object("Take a Swedish ship to Sverige", Object(text="Sweden"))]
        [('Swedish', False), ('Sverige', True)]
    """
    forms = {form.text: form for form in name_forms(entity, relation)}
    names = (*entity.names, *(f.text for f in forms.values() if f.kind in ("name", "byname", "surname", "given")))
    whole = entity.model_copy(update={"aliases": (*entity.aliases, *forms)})
    others = [_with_names(other) for other in beside if other is not None]
    around = (*names, *near)
    mentions = _find(text, whole, others)
    if (plain := plain_letters(text)) != text:
        mentions = _with_look_alikes(mentions, _find(plain, whole, others), text)
    places = tuple(_read(text, m, forms.get(m.name), around) for m in mentions)
    if relation is not None:
        places = tuple(_as_thing(text, one, relation.id) for one in places)
    signs = money_signs(text, names)
    if not signs:
        return places
    derived = (ObjectMention(m, "name", f"'{m.text}' stands for '{entity.text}'", False, "derived") for m in signs)
    return tuple(sorted([*places, *derived], key=lambda one: one.mention.start))


def _with_look_alikes(mentions: list[Mention], plain: list[Mention], text: str) -> list[Mention]:
    """The mentions, and those that are seen only where look-alike letters are read as Latin ones."""
    more = [m for m in plain if not any(m.start < one.end and one.start < m.end for one in mentions)]
    return sorted([*mentions, *(m._replace(text=text[m.start : m.end]) for m in more)])


def _with_names(entity: Entity) -> Entity:
    """The entity with the further names that stand for it."""
    more = tuple(form.text for form in name_forms(entity) if form.kind in ("name", "byname"))
    return entity.model_copy(update={"aliases": (*entity.aliases, *more)}) if more else entity


def _find(text: str, entity: Entity, beside: list[Entity]) -> list[Mention]:
    """Mentions in the text as it stands, and in the text without apostrophes within words ("Hawai\u02bbi")."""
    mentions = list(find(text, entity, beside=beside))
    marks = {m.start() for m in _WITHIN.finditer(text)}
    if marks:
        places = [n for n in range(len(text)) if n not in marks]
        bare = "".join(text[n] for n in places)
        for m in find(bare, entity, beside=beside):
            start, end = places[m.start], places[m.end - 1] + 1
            if not any(start < f.end and f.start < end for f in mentions):
                mentions.append(Mention(start, end, text[start:end], m.name))
    return sorted(mentions)


def _read(text: str, mention: Mention, form: NameForm | None, names: tuple[str, ...]) -> ObjectMention:
    """What a place is taken for, by its spelling and by what stands around it."""
    kind: FormKind = form.kind if form is not None else "name"
    reading = read_spelling(text, mention.start, mention.end, mention.name)
    if reading.label == "word":
        return ObjectMention(mention, "word", reading.why, kind=kind)
    if form is not None:
        if len(mention.name) <= _SHORT and mention.name[0].isupper() and mention.text[0].islower():
            why = f"'{mention.text}' has no capital, {mention.name} has one"
            return ObjectMention(mention, "word", why, kind=kind)
        if kind == "byname" and mention.text.startswith("the ") and mention.text[4:].islower():
            return ObjectMention(mention, "word", f"'{mention.text}' has no capital as '{mention.name}' has", kind=kind)
        if kind in ("derived", "kindred", "made"):
            return _judge_derived(text, mention, form, reading)
    longer = longer_name(text, mention.start, mention.end, names=names)
    if longer is None:
        longer = namesake(text, mention.start, mention.end, names=names)
    if longer is None and mention.name[0].isupper():
        longer = small_longer_name(text, mention.start, mention.end)
    if longer is not None:
        why = f"'{mention.text}' is part of a longer name, '{longer}'"
        return ObjectMention(mention, "unsure", why, kind != "given", kind)
    if form is not None and kind == "given":
        why = f"'{mention.text}' may be '{form.of}' or another person"
        return ObjectMention(mention, "unsure", why, False, kind)
    if form is not None and kind == "escaped":
        return ObjectMention(mention, "unsure", f"'{mention.text}' is '{form.of}' in escape codes", kind=kind)
    why = reading.why
    if form is not None and kind == "inflected":
        why = why or f"'{mention.text}' is '{form.of}' in another case"
    elif plain_letters(mention.text) != mention.text:
        why = why or f"'{mention.text}' has letters of another alphabet that look like Latin ones"
    return ObjectMention(mention, reading.label, why, kind=kind)


def _as_thing(text: str, one: ObjectMention, relation: str) -> ObjectMention:
    """The place as another word, where a thing is meant that can be counted: "Fetch a rock"."""
    start, end = one.mention.start, one.mention.end
    if one.label == "word" or one.kind != "name" or not counted_thing(text, start, end, relation):
        return one
    return one._replace(label="word", why=f"'{one.mention.text}' is a thing here that can be counted")


def _judge_derived(text: str, mention: Mention, form: NameForm, reading: Reading) -> ObjectMention:
    """A word derived from a name: it gives the name away, unless it stands in a set phrase or only shares a root."""
    phrase = set_phrase(text, mention.start, mention.end)
    if phrase is not None:
        why = f"'{mention.text}' is part of a set phrase, '{phrase}'"
    elif form.kind == "made" and mention.text[0].islower():
        why = f"'{mention.text}' may be made of '{form.of}'"
    elif form.kind == "kindred":
        why = f"'{mention.text}' has the root of '{form.of}'"
    else:
        why = reading.why or f"'{mention.text}' is derived from '{form.of}'"
        return ObjectMention(mention, reading.label, why, False, form.kind)
    return ObjectMention(mention, "unsure", why, False, form.kind)
