"""Questions about an event: what has changed, what is likely now, what must stay (ELKEN §2.2 and §2.3)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from schemas.core.records import UNLESS_EMPTY, Frozen, Key, Record, Text
from schemas.facts import Entity, Object, Relation

Scope = Literal["in", "out"]
"""``in``: after the edit the answer must be the given one. ``out``: the answer must stay what it was."""

SCOPE_LISTS: dict[str, Scope] = {"qas": "in", "local_qas": "out"}
"""What ELKEN's released shape calls its lists of questions, and their scope."""
LETTERS = ("A", "B", "C")
UNKNOWN = "unknown"
"""The answer of a question whose old answer an event takes away without giving a new one."""


class BackgroundQuestion(Frozen):
    """A question for world knowledge that another question's answer needs, asked without the event (ELKEN §4.2).

    "Which league does Ana play in?" needs, beside her move to Brenta, the league of Brenta: "Which league does Brenta
    play in?".

    Attributes:
        text: The question, which names what the event names.
        answer: What holds, whether the event happens or not.
    """

    text: Text
    answer: Object

    @model_validator(mode="after")
    def _known(self) -> BackgroundQuestion:
        if self.answer.text.casefold() == UNKNOWN:
            raise ValueError("the answer of a background question is world knowledge: it is never unknown")
        return self


class FactQuestion(Record):
    """A question with a short answer about an event (ELKEN §2.2).

    A question without background questions is stored as it was before there were any, byte for byte, its id included.

    Attributes:
        event: Key of the event.
        subject: What the question asks about; None where the source does not say.
        relation: Wikidata property, or a name in the source's words ("previous-chairman").
        answer: Right answer with its aliases. In scope: after the edit; out of scope: before and after. An answer
            ``unknown`` says that the event takes the old answer away and gives no new one.
        background: Whether the answer needs world knowledge beside the event.
        path: The relations that lead from the event's entity to the answer ("league" of "new club"), where known.
        background_questions: What asks for that knowledge without the event; none where the source has no such ones.
    """

    kind: ClassVar[str] = "fact_question"
    event: Key
    text: Text
    subject: Entity | None = None
    relation: Relation
    answer: Object
    scope: Scope
    background: bool = False
    path: tuple[Text, ...] = ()
    background_questions: Annotated[tuple[BackgroundQuestion, ...], UNLESS_EMPTY] = ()

    @property
    def unknown(self) -> bool:
        """Whether the edit takes the old answer away and gives no new one."""
        return self.answer.text.casefold() == UNKNOWN

    @model_validator(mode="after")
    def _unknown_in_scope(self) -> FactQuestion:
        if self.unknown and self.scope == "out":
            raise ValueError("an answer that becomes unknown is in scope: out of scope nothing changes")
        return self

    @model_validator(mode="after")
    def _needed_background(self) -> FactQuestion:
        if self.background_questions and not (self.background and self.scope == "in"):
            raise ValueError("background questions belong to a question in scope whose 'background' is true")
        texts = [self.text, *(asked.text for asked in self.background_questions)]
        if twice := next((t for n, t in enumerate(texts) if t.casefold() in map(str.casefold, texts[:n])), None):
            raise ValueError(f"a background question asks what is asked already ({twice!r})")
        return self


class TendencyQuestion(Record):
    """A question with three options about what is likely now (ELKEN §2.3, Table 10).

    Attributes:
        event: Key of the event.
        options: What stands behind (A), (B) and (C).
        answer: Letter of the right option.
        about_event_subject: Whether it asks about the event's own subject; None where the source does not say.
    """

    kind: ClassVar[str] = "tendency_question"
    event: Key
    text: Text
    options: Annotated[tuple[Text, ...], Field(min_length=3, max_length=3)]
    answer: Literal["A", "B", "C"]
    scope: Scope
    about_event_subject: bool | None = None

    @model_validator(mode="after")
    def _different_options(self) -> TendencyQuestion:
        folded = [option.casefold().rstrip(".") for option in self.options]
        if len(set(folded)) != len(folded):
            twice = next(o for o, f in zip(self.options, folded, strict=True) if folded.count(f) > 1)
            raise ValueError(f"two options are equal ({twice!r}): three different ones are needed")
        return self

    @property
    def right_option(self) -> str:
        """Text of the right option."""
        return self.options[LETTERS.index(self.answer)]
