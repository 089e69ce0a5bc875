"""Cut a script before the first mention of the old object: the cloze prompt of S-ES, S-NS and S-BO (ScEdit §3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from construction.cuts.attributive_uses import attributive_use
from construction.cuts.cut_place import CutPlace
from construction.cuts.idle_steps import idle_step
from construction.cuts.leading_words import lead_fault
from construction.cuts.open_places import open_place
from construction.cuts.other_roles import other_role
from construction.cuts.passing_mentions import passing_mention
from construction.cuts.step_words import foreign_step
from construction.mentions.name_forms import is_of_person
from construction.mentions.object_mentions import ObjectMention, find_object
from schemas.facts import Entity, Fact, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion, render
from schemas.text.mentions import Mention, find

_INVISIBLE = (
    "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"  # they turn the writing
)
_LETTERS = re.compile(r"\bletters? of\Z", re.IGNORECASE)  # of a person: what was written, no letters of a name
_OPENING = "([{<\"“‘„‚‟‛«‹❝❛「『《〈【〔（［｛＜¿¡'"


class Cut(NamedTuple):
    """Where a script is cut.

    Attributes:
        text: Question and steps up to the mention, without the separator.
        separator: White space or opening punctuation directly before the mention.
        step: Number of the step, from 1.
        mention: What stood there, with its place in the rendered script.
        doubt: Why the object may not be meant there; empty where it plainly is.
    """

    text: str
    separator: str
    step: int
    mention: Mention
    doubt: str = ""


class SoughtObject(NamedTuple):
    """The object that a script is cut before, and what tells its mentions from others.

    Attributes:
        old: The object.
        subject: Whose name may hold the object.
        beside: Others who may be meant, the new object above all ("York" in "New York" is no place to cut).
        relation: The relation of the fact; it may say that the old object is a person.
    """

    old: Entity
    subject: Entity | None = None
    beside: tuple[Entity | None, ...] = ()
    relation: Relation | None = None

    @classmethod
    def of(cls, fact: Fact) -> SoughtObject:
        """The old object of a fact."""
        return cls(fact.old, fact.subject, (fact.new,), fact.relation)


def apart(mentions: tuple[Mention, ...], inside: tuple[Mention, ...]) -> tuple[Mention, ...]:
    """Mentions that do not lie within one of ``inside`` ("Porsche" within "Porsche Panamera")."""
    return tuple(m for m in mentions if not any(h.start <= m.start and m.end <= h.end for h in inside))


def first_cut(question: str, steps: tuple[str, ...], sought: SoughtObject) -> Cut | None:
    r"""Cut before the first mention of the old object in a step; None where no step mentions it.

    Labels ("Step 3:") are not searched, and a mention that is only part of the subject's name does not count: cut
    there, the model would be asked to finish the subject. A byname or a surname is taken only where no name of the
    fact follows, a place that may be another word or part of a longer name only where no plain mention follows; the cut
    then says why it is doubtful. Words derived from a name ("Italian") are no place to cut.

    Args:
        question: The script question.
        steps: The steps without labels.
        sought: The object to cut before.

    Example:
        >>> from schemas.facts import Object
        >>> cut = first_cut("How to go?", ("Pack", 'Fly to "Rome" early'), SoughtObject(Object(text="Rome")))
        >>> cut.text, cut.separator, cut.step, cut.mention.text
        ('How to go?\nStep 1: Pack\nStep 2: Fly to', ' "', 2, 'Rome')
    """
    places = [(n, one) for n, one in object_places(steps, sought) if one.fits and one.label != "word"]
    chosen = min(places, key=_preference) if places else None
    if chosen is None:
        return None
    number, one = chosen
    whole = render(question, steps)
    place = len(render(question, steps[:number])) - len(steps[number - 1])
    mention = one.mention._replace(start=place + one.mention.start, end=place + one.mention.end)
    before = whole[: mention.start]
    separator = separator_of(before)
    step = steps[number - 1]
    doubt = one.why or _nothing_leads(step[: one.mention.start], step[one.mention.end :], sought)
    return Cut(before[: len(before) - len(separator)], separator, number, mention, doubt)


def _nothing_leads(before: str, after: str, sought: SoughtObject) -> str:
    """Why a place is no good one though the object is plainly meant; empty where it is."""
    relation = sought.relation.id if sought.relation is not None else ""
    place = CutPlace(before, relation, after, is_of_person(sought.relation))
    families = (open_place, passing_mention, other_role)
    words = next((one for one in (family(place) for family in families) if one is not None), None)
    if words is not None and place.person and _LETTERS.search(words):
        words = None
    if words is None:
        noun = attributive_use(place)
        if noun is not None:
            return f"the object only describes '{noun}'"
        return lead_fault(place) or idle_step(place) or foreign_step(place)
    where = "before" if after.lstrip(" \u00a0-,\"'”’)").startswith(words) else "after"
    return f"nothing leads to the object {where} '{words}'"


def _preference(place: tuple[int, ObjectMention]) -> tuple[bool, bool]:
    """Plain places before doubtful ones, the object's names before its bynames and surnames; then the first."""
    one = place[1]
    return one.label != "name", one.kind != "name"


def object_places(steps: tuple[str, ...], sought: SoughtObject) -> Iterator[tuple[int, ObjectMention]]:
    """Every place in the steps that mentions or seems to mention the old object, outside the subject's name.

    Yields:
        The number of the step, from 1, and the place in that step.
    """
    old, subject, beside, relation = sought
    near = subject.names if subject is not None else ()
    for number, step in enumerate(steps, 1):
        mentions = find_object(step, old, beside=beside, relation=relation, near=near)
        hosts = find(step, subject) if mentions and subject is not None else ()
        for one in mentions:
            if apart((one.mention,), hosts):
                yield number, one


def separator_of(text: str) -> str:
    """The white space and opening punctuation at the end of a text; an apostrophe of a word ("l'") is part of the word.

    Example:
        >>> separator_of("Stay in a hotel ("), separator_of("Drive to l'")
        (' (', '')
    """
    end = len(text)
    while end and (text[end - 1] in _OPENING or text[end - 1] in _INVISIBLE):
        if text[end - 1] == "'" and end > 1 and text[end - 2].isalpha():
            break
        end -= 1
    return text[len(text[:end].rstrip()) :]


def cut_script(fact: Fact, question: ScriptQuestion, script: Script) -> ScriptPrompt | None:
    """The script prompt of a script, or None where there is nothing to cut at.

    The targets are the object as it stands in the script and, for a fact with a change, the new object.
    """
    cut = first_cut(question.text, script.steps, SoughtObject.of(fact))
    if cut is None:
        return None
    return ScriptPrompt(
        key=f"{script.key}/p",
        fact=fact.key,
        question=question.key,
        script=script.key,
        text=cut.text,
        offset=cut.mention.start,
        step=cut.step,
        separator=cut.separator,
        targets=(cut.mention.text.strip(), *((fact.new.text,) if fact.new else ())),
    )
