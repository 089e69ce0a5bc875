"""What a check is: a name, a version, and a pure function from the material to one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from construction.scripts.truncation import apart
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.escaping import shown_line
from schemas.text.mentions import Mention, find
from schemas.verdicts import Label, Span, Verdict, verdict_key

Stage = Literal["fact", "reply", "question", "draft", "script", "prompt", "neighbour"]
"""What a check looks at; the stages come in this order."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a check may look at; each stage fills in more.

    Attributes:
        fact: The fact that question, script and prompt are about.
        facts: Other facts of the same subject and relation, at stage ``fact``; None where they are not known.
        question: From stage ``question`` on.
        questions: Questions of the fact that came before this one, at stage ``question``; None where nobody said, and
            then no check compares them.
        draft: Steps as the model wrote them, at stage ``draft``.
        script: From stage ``script`` on.
        prompt: From stage ``prompt`` on; None at stage ``script``, where it may turn out that there is nothing to cut.
        edit: The edited fact, at stage ``neighbour``, where ``fact`` is the neighbour fact.
        link: The link between the two, likewise.
        failure: Why no usable reply came, at stage ``reply``.
    """

    fact: Fact
    facts: tuple[Fact, ...] | None = None
    question: ScriptQuestion | None = None
    questions: tuple[ScriptQuestion, ...] | None = None
    draft: tuple[str, ...] = ()
    script: Script | None = None
    prompt: ScriptPrompt | None = None
    edit: Fact | None = None
    link: Neighbour | None = None
    failure: str = ""


class Check:
    """Base of all checks; a check measures or describes, and what is kept is decided elsewhere.

    Attributes:
        name: Name in the registry.
        version: Changes whenever a verdict could change.
        on: The stage it belongs to.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    on: ClassVar[Stage]

    def applies(self, material: Material) -> bool:
        """Whether there is anything to judge; where not, the check leaves no verdict."""
        return True

    def judge(self, material: Material) -> Verdict:
        """The verdict on the material of this check's stage, where the check applies."""
        raise NotImplementedError

    def verdict(
        self,
        item: Record,
        label: Label | None,
        reason: str = "",
        *,
        value: float | None = None,
        unit: str | None = None,
        spans: Iterable[Span] = (),
        related: tuple[str, ...] = (),
    ) -> Verdict:
        """A verdict by this check on an item."""
        by = f"{self.name}@{self.version}"
        key = verdict_key(item_id=item.id, by=by, related=related)
        return Verdict(
            key=key,
            item_id=item.id,
            by=by,
            label=label,
            reason=shown_line(reason),
            value=value,
            unit=unit,
            spans=tuple(spans),
            related=related,
        )


def span(mention: Mention, what: str) -> Span:
    """A mention as a verdict's span."""
    return Span(start=mention.start, end=mention.end, text=mention.text, what=what)


def leaks(
    text: str, entity: Entity, *, subject: Entity, other: Entity | None = None
) -> tuple[list[Mention], list[Mention]]:
    """Mentions of an entity in a text: those that stand free, and those that are only part of the subject's name.

    Args:
        text: Where to look.
        entity: Who gives the answer away.
        subject: Whose name cannot be avoided.
        other: The other object of the edit; what is only part of its longer name is its mention, not the entity's.
    """
    found = find(text, entity, beside=(other,))
    free = apart(found, find(text, subject)) if found else ()
    return list(free), [m for m in found if m not in free]
