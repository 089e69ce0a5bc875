"""What generated scripts name: the new object, the old one, both or neither; and their text with the objects marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.tables import FigureTable, Rate, head_of, rates
from schemas.cases import Case
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.text.mentions import Mention, find
from schemas.text.raw_text import raw_text

NAMED = ("new only", "old only", "both", "neither")
MENTIONS = (*(Rate(n, n) for n in NAMED), Rate("refused", "refused"), Rate("without steps", "formless"))


class MarkedText(NamedTuple):
    """A piece of text: ``kind`` is ``new``, ``old`` or empty."""

    text: str
    kind: str


def mentions(text: str, fact: Fact) -> list[tuple[Mention, str]]:
    """Mentions of both objects in order, none overlapping (``schemas.text.mentions``: aliases and endings count)."""
    matches = [(m, "old") for m in find(text, fact.old, beside=[fact.new])]
    if fact.new is not None:
        matches += [(m, "new") for m in find(text, fact.new, beside=[fact.old])]
    out: list[tuple[Mention, str]] = []
    for mention, kind in sorted(matches, key=lambda x: (x[0].start, -x[0].end)):
        if not out or mention.start >= out[-1][0].end:
            out.append((mention, kind))
    return out


def mark_objects(text: str, fact: Fact) -> list[list[MarkedText]]:
    """A text by lines, each in pieces, with the mentions of the two objects apart.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> told = {"key": "f", "subject": Entity(text="Peru"), "relation": Relation(id="P36"), "prompt": "{} is"}
        >>> told |= {"source": Source(name="x", licence="CC0-1.0"), "old": Object(text="Lima")}
        >>> fact = Fact(new=Object(text="Oslo"), **told)
        >>> [[tuple(p) for p in line] for line in mark_objects("Fly to Oslo.", fact)]
        [[('Fly to ', ''), ('Oslo', 'new'), ('.', '')]]
    """
    out = []
    for line in text.split("\n"):
        pieces, at = [], 0
        for mention, kind in mentions(line, fact):
            pieces += [MarkedText(line[at : mention.start], ""), MarkedText(line[mention.start : mention.end], kind)]
            at = mention.end
        out.append([p for p in [*pieces, MarkedText(line[at:], "")] if p.text])
    return out


def which_objects(text: str, fact: Fact) -> str:
    """Which of the two objects a text names: one of ``NAMED``."""
    kinds = {kind for _, kind in mentions(text, fact)}
    if len(kinds) == 2:
        return "both"
    return f"{next(iter(kinds))} only" if kinds else "neither"


def mention_table(scripts: Sequence[GeneratedScript], cases: Mapping[str, Case], labels: Sequence[str]) -> FigureTable:
    """What the scripts of every method name, over those whose case is known."""
    values = []
    for script in sorted((s for s in scripts if s.case in cases), key=lambda s: labels.index(s.editor)):
        named = which_objects(raw_text(script.text), cases[script.case].fact)
        shares = {name: name == named for name in NAMED}
        ends = {"refused": script.refused, "formless": not script.steps}
        values.append({"method": script.editor, "case": script.case, **shares, **ends})
    caption = "Aliases, plurals and possessives count as mentions."
    rows = rates(values, ["method"], MENTIONS)
    return FigureTable("Objects named in the scripts", head_of(("Method",), "Scripts", MENTIONS), rows, caption)
