"""What a check is: a name, a version, and a pure function from the material to one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from construction.truncate import apart
from schemas.facts import Entity, Fact, Neighbour
from schemas.mentions import Mention, find
from schemas.records import Record
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Label, Span, Verdict, verdict_key

Stage = Literal["reply", "question", "draft", "script", "prompt", "neighbour"]
"""What a check looks at; the stages come in this order."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a check may look at; each stage fills in more.

    Attributes:
        fact: The fact that question, script and prompt are about.
        question: From stage ``question`` on.
        draft: Steps as the model wrote them, at stage ``draft``.
        script: From stage ``script`` on.
        prompt: From stage ``prompt`` on; None at stage ``script``, where it may turn out that there is nothing to cut.
        edit: The edited fact, at stage ``neighbour``, where ``fact`` is the neighbour fact.
        link: The link between the two, likewise.
        failure: Why no usable reply came, at stage ``reply``.
    """

    fact: Fact
    question: ScriptQuestion | None = None
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

    def judge(self, material: Material) -> Verdict:
        """The verdict on the material of this check's stage."""
        raise NotImplementedError

    def verdict(
        self,
        item: Record,
        label: Label,
        reason: str = "",
        *,
        spans: Iterable[Span] = (),
        related: tuple[str, ...] = (),
    ) -> Verdict:
        """A verdict by this check on an item."""
        by = f"{self.name}@{self.version}"
        key = verdict_key(item_id=item.id, by=by, related=related)
        return Verdict(key=key, item_id=item.id, by=by, label=label, reason=reason, spans=tuple(spans), related=related)


def span(mention: Mention, what: str) -> Span:
    """A mention as a verdict's span."""
    return Span(start=mention.start, end=mention.end, text=mention.text, what=what)


def leaks(text: str, entity: Entity, *, subject: Entity) -> tuple[list[Mention], list[Mention]]:
    """Mentions of an entity in a text: those that stand free, and those that are only part of the subject's name."""
    found = find(text, entity)
    free = apart(found, find(text, subject))
    return list(free), [m for m in found if m not in free]
