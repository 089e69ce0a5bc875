"""Does any word of the step go with objects of this kind? "Steer the raft to ..." does with places, "Debate ..." not.

What a cut is to lead to has its own words: one travels, sends and applies to places, reads and writes about persons,
orders and complains at firms, says and translates into languages. A shipped table holds them, made from the kept
prompts that we ship and from general knowledge of English, never from a wrong cut. A step without any of them has
nothing to do with the kind of the object, whatever its last word is; it is for people to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from construction.cuts.attributive_uses import noun_kind
from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import PLACES
from curation.shipped import SHIPPED

Tables = Mapping[str, frozenset[str]]
"""Base forms by kind of object ("place"), or kind and last word ("place about"); "small": words that tell nothing."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ARTICLES = frozenset(["the", "a", "an", "your", "my", "our", "his", "her", "their", "its", "this", "that"])
_ENDINGS = ("ing", "ed", "es", "s", "er", "e")
_SHORTEST = 3  # letters that are left of a word when an ending is taken off


class StepParts(NamedTuple):
    """What is looked at in the words before an object.

    Attributes:
        kind: What the object is, as the tables call it; empty where they say nothing of it.
        last: The last word before the object that is no article.
        content: Base forms of the words that are no small ones.
    """

    kind: str
    last: str
    content: frozenset[str]


def step_parts(place: CutPlace, *, tables: Tables | None = None) -> StepParts:
    """The parts of a step that decide whether it goes with its object.

    Example:
        >>> parts = step_parts(CutPlace("Steering the raft to the ", "P36"))
        >>> parts.kind, parts.last, sorted(parts.content)
        ('place', 'to', ['raft', 'steer'])
    """
    small = (tables or step_tables())["small"]
    words = [word.casefold() for word in _WORD.findall(place.before)]
    last = next((word for word in reversed(words) if word not in _ARTICLES), "")
    content = frozenset(base_form(word) for word in words if word not in small)
    return StepParts("person" if place.person else noun_kind(place.relation) or "", last, content)


def foreign_step(place: CutPlace, *, tables: Tables | None = None) -> str:
    """Why a step has nothing to do with objects of its kind, in words; empty where it has, or where no table tells.

    A step is judged where a small English word stands right before the object, and another before that; about a person
    whatever stands there ("Beat ...").

    Args:
        place: The place.
        tables: Other words than the shipped ones, for measuring.

    Example:
        >>> foreign_step(CutPlace("Steer the raft to ", "P36")), foreign_step(CutPlace("In ", "P36"))
        ('', '')
        >>> foreign_step(CutPlace("Juggle plums with ", "P36"))
        "'plums with' leads to no place"
        >>> foreign_step(CutPlace("Juggle plums in ", "P36"))
        "no word of 'Juggle plums in' goes with a place"
        >>> foreign_step(CutPlace("Beat ", "P50", person=True))
        "no word of 'Beat' goes with a person"
    """
    tables = step_tables() if tables is None else tables
    kind, last, content = step_parts(place, tables=tables)
    if kind not in tables or not content:
        return ""
    words = [word.casefold() for word in _WORD.findall(place.before)]
    if words[-1] not in tables["small"] and not place.person:
        return ""
    leaders = tables.get(f"{kind} {last}") if place.relation in PLACES else None
    if leaders is None and not content & tables[kind]:
        return f"no word of '{place.before.strip()}' goes with a {kind}"
    if leaders is not None and not content & leaders:
        noun = next(word for word in reversed(words) if word not in tables["small"])
        return f"'{noun} {last}' leads to no {kind}"
    return ""


@lru_cache(maxsize=8192)
def base_form(word: str) -> str:
    """What the forms of a word have in common, roughly: no plural, no ending of a verb.

    Example:
        >>> base_form("studies") == base_form("study"), base_form("travelling") == base_form("travels")
        (True, True)
    """
    word = word.replace("’", "'").removesuffix("'s")
    if word.endswith("ies") and len(word) - len("ies") >= 2:
        return word.removesuffix("ies") + "y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            if ending in ("ing", "ed", "er") and word[-1] == word[-2]:
                word = word[:-1]
            break
    return word.removesuffix("e") if len(word) > _SHORTEST else word


@lru_cache(maxsize=1)
def step_tables() -> Tables:
    """The shipped words: base forms by the kind of object; the small words as they are."""
    lines = (SHIPPED / "names/step_words.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split("|") for line in lines if line and not line.startswith("#"))
    words = {kind.strip(): frozenset(word.strip() for word in text.split(";")) for kind, text in rows}
    return {kind: listed if kind == "small" else frozenset(map(base_form, listed)) for kind, listed in words.items()}
