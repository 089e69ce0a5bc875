"""What an edit states, and which part of its consequences a probe asks: benchmarks of single facts as documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from schemas.core.records import Frozen, PromptText, Text

Group = Literal[
    "efficacy",
    "rephrase",
    "persona",
    "hop",
    "script_hop",
    "logical",
    "alias",
    "forgetfulness",
    "locality",
]
"""Which consequence of an edit a probe asks for."""

GROUPS: Mapping[Group, str] = {
    "efficacy": "the edit itself, in its own words",
    "rephrase": "the edit in other words",
    "persona": "the edit as somebody of a certain manner would ask for it (WikiBigEdit)",
    "hop": "what follows from the edit and other facts, in one step or several",
    "script_hop": "the same at the last step of a script that is cut there",
    "logical": "what follows from the edit alone: the other direction, a relation's rules",
    "alias": "the edit under other names of its subject or object",
    "forgetfulness": "other objects that the subject keeps, where several are right",
    "locality": "what the edit should leave alone",
}
"""Every group, and what it asks."""

KEPT: frozenset[Group] = frozenset({"forgetfulness", "locality"})
"""Groups whose answers an edit should leave as they are."""

assert tuple(GROUPS) == get_args(Group)


def stated_text(prompt: str, target: str) -> str:
    """A filled-in prompt with its target, in words: with a full stop where nothing else ends it.

    Example:
        >>> stated_text("Who wrote Emma?", "Jane Austen"), stated_text("Emma was written by", "J.")
        ('Who wrote Emma? Jane Austen.', 'Emma was written by J.')
    """
    whole = f"{prompt} {target}"
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."


class Statement(Frozen):
    """An edit of one fact as its source states it: unlike a ``Fact`` it has no old object.

    Attributes:
        subject: What it is about.
        prompt: With exactly one ``{}`` for the subject; the target follows after one space.
        target: What shall follow the prompt.
    """

    subject: Text
    prompt: PromptText
    target: Text

    @property
    def text(self) -> str:
        """The statement in words, with a full stop where nothing else ends it.

        Example:
            >>> Statement(subject="Chad", prompt="The capital of {} is", target="Rome").text
            'The capital of Chad is Rome.'
        """
        return stated_text(self.prompt.replace("{}", self.subject), self.target)


class Premise(Frozen):
    """Something that a model has to know before the edit, or a probe of a consequence says nothing about the edit.

    Attributes:
        query: As a probe's: a question, or a cloze with ``___``.
        answers: All that are right, the usual one first.
    """

    query: Text
    answers: Annotated[tuple[Text, ...], Field(min_length=1)]
