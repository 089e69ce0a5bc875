"""Cut a script before the first mention of the old object: the cloze prompt of S-ES, S-NS and S-BO (ScEdit §3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from schemas.facts import Entity, Fact
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
    """

    text: str
    separator: str
    step: int
    mention: Mention


def apart(mentions: tuple[Mention, ...], inside: tuple[Mention, ...]) -> tuple[Mention, ...]:
    """Mentions that do not lie within one of ``inside`` ("Porsche" within "Porsche Panamera")."""
    return tuple(m for m in mentions if not any(h.start <= m.start and m.end <= h.end for h in inside))


def first_cut(
    question: str,
    steps: tuple[str, ...],
    *,
    old: Entity,
    subject: Entity | None = None,
    beside: Iterable[Entity | None] = (),
) -> Cut | None:
    r"""Cut before the first mention of the old object in a step; None where no step mentions it.

    Labels ("Step 3:") are not searched, and a mention that is only part of the subject's name does not count: cut
    there, the model would be asked to finish the subject.

    Args:
        question: The script question.
        steps: The steps without labels.
        old: The object to cut before.
        subject: Whose name may hold the object.
        beside: Others who may be meant, the new object above all ("York" in "New York" is no place to cut).

    Example:
        >>> from schemas.facts import Object
        >>> cut = first_cut("How to go?", ("Pack", 'Fly to "Rome" early'), old=Object(text="Rome"))
        >>> cut.text, cut.separator, cut.step, cut.mention.text
        ('How to go?\nStep 1: Pack\nStep 2: Fly to', ' "', 2, 'Rome')
    """
    others = tuple(beside)
    place = len(question)
    for number, step in enumerate(steps, 1):
        place += len(f"\nStep {number}: ")
        found = find(step, old, beside=others)
        if found and subject is not None:
            found = apart(found, find(step, subject))
        if found:
            mention = found[0]._replace(start=place + found[0].start, end=place + found[0].end)
            before = render(question, steps)[: mention.start]
            separator = separator_of(before)
            return Cut(before[: len(before) - len(separator)], separator, number, mention)
        place += len(step)
    return None


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
    cut = first_cut(question.text, script.steps, old=fact.old, subject=fact.subject, beside=(fact.new,))
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
