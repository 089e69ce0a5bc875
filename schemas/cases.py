"""Cases: an edit and the material that is asked about it; the unit of a split."""

from __future__ import annotations

from typing import ClassVar

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
