"""Cut a script before the first mention of the old object: the cloze prompt of S-ES, S-NS and S-BO (ScEdit §3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from construction.mentions import ObjectMention, find_object
from schemas.facts import Fact
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


def first_cut(question: str, steps: tuple[str, ...], fact: Fact) -> Cut | None:
    """Cut before the first mention of the old object in a step; None where no step mentions it.

    Labels ("Step 3:") are not searched, and a mention that is only part of the subject's name does not count: cut
    there, the model would be asked to finish the subject. A place that may be another word ("turkey") is taken only
    where no plain mention follows; the cut then says why it is doubtful. Words derived from a name ("Italian") are no
    place to cut.

    Args:
        question: The script question.
        steps: The steps without labels.
        fact: Whose old object to cut before; its new one may be meant in its place ("York" in "New York").
    """
    places: list[tuple[int, ObjectMention]] = []
    for number, step in enumerate(steps, 1):
        mentions = find_object(step, fact.old, beside=[fact.new], relation=fact.relation)
        hosts = find(step, fact.subject) if mentions else ()
        places += [(number, one) for one in mentions if one.fits and not _within(one.mention, hosts)]
    if not places:
        return None
    number, one = min(places, key=lambda place: bool(place[1].doubt))
    whole = render(question, steps)
    place = len(render(question, steps[:number])) - len(steps[number - 1])
    mention = one.mention._replace(start=place + one.mention.start, end=place + one.mention.end)
    before = whole[: mention.start]
    separator = separator_of(before)
    return Cut(before[: len(before) - len(separator)], separator, number, mention, one.doubt)


def _within(mention: Mention, hosts: Iterable[Mention]) -> bool:
    """Whether a mention is part of another one ("Porsche" of "Porsche Panamera")."""
    return any(host.start <= mention.start and mention.end <= host.end for host in hosts)


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
    cut = first_cut(question.text, script.steps, fact)
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
