"""Cut a script before the first mention of the old object: the cloze prompt of S-ES, S-NS and S-BO (ScEdit §3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from construction.mentions import ObjectMention, find_object
from schemas.facts import Entity, Fact, Relation
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion, render
from schemas.text.mentions import Mention, find

_INVISIBLE = (
    "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"  # they turn the writing
)
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
    there, the model would be asked to finish the subject. A place that may be another word ("turkey") is taken only
    where no plain mention follows; the cut then says why it is doubtful. Words derived from a name ("Italian") are no
    place to cut.

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
    places = [(number, one) for number, one in object_places(steps, sought) if one.fits]
    if not places:
        return None
    number, one = min(places, key=lambda place: bool(place[1].doubt))
    whole = render(question, steps)
    place = len(render(question, steps[:number])) - len(steps[number - 1])
    mention = one.mention._replace(start=place + one.mention.start, end=place + one.mention.end)
    before = whole[: mention.start]
    separator = separator_of(before)
    return Cut(before[: len(before) - len(separator)], separator, number, mention, one.doubt)


def object_places(steps: tuple[str, ...], sought: SoughtObject) -> Iterator[tuple[int, ObjectMention]]:
    """Every place in the steps that mentions or seems to mention the old object, outside the subject's name.

    Yields:
        The number of the step, from 1, and the place in that step.
    """
    old, subject, beside, relation = sought
    for number, step in enumerate(steps, 1):
        mentions = find_object(step, old, beside=beside, relation=relation)
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
