"""Cases: an edit and the material that is asked about it; the unit of a split."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from schemas.core.json_text import canonical_text
from schemas.core.records import Frozen, Record
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt, ScriptQuestion


class CaseNeighbour(Frozen):
    """A neighbour fact inside a case, with its script prompts."""

    link: Neighbour
    fact: Fact
    questions: tuple[ScriptQuestion, ...] = ()
    prompts: tuple[ScriptPrompt, ...] = ()


class Case(Record):
    """One edit with everything that is asked about it; the unit of a split, of resuming and of intervals."""

    kind: ClassVar[str] = "case"
    fact: Fact
    questions: tuple[ScriptQuestion, ...] = ()
    prompts: tuple[ScriptPrompt, ...] = ()
    neighbours: tuple[CaseNeighbour, ...] = ()

    @cached_property
    def canonical_once(self) -> str:
        """``canonical``, kept: a case is long, and its id and its split's digest are made of the same text."""
        return canonical_text(self)

    def canonical(self) -> str:
        """The payload's canonical JSON text, of which the id is made."""
        return self.canonical_once
