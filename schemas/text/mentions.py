"""Where an object, or another name of it, is mentioned in a text: the one definition of "first mention".

A mention is a whole word (or words) equal to one of the entity's names after folding (``schemas.text.folding``): case,
diacritics, compatibility forms, apostrophes; hyphens, underscores and line breaks count as spaces; the dots of "U.S."
may be left out. A plural or possessive ending may follow and is not part of the mention, except in "cities" for "city".
Short names in capitals ("US", "NBA") keep their case and take no plural, so that the pronoun "us" mentions nobody.
Names in scripts written without spaces need no word boundary; a Korean name may be followed by its particles. Part of a
number ("2" in "2.5") and of a name with signs ("C" in "C++") is no mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from schemas.facts import Entity
from schemas.text.folding import FoldedText, fold

_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_UNSPACED}]"  # of a script with spaces between words
_NO_SPACES = re.compile(rf"[{_UNSPACED}]")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
_GAP = r"[\s\-_]+"
_LONGEST = 2000  # characters of a name that is searched for with endings and gaps; no real one has as many
_SIGN = r"(?![+#]+(?!\w))"


class Mention(NamedTuple):
    """Characters ``start`` to ``end`` (end excluded) of the text, what stands there, and the name that was found."""

    start: int
    end: int
    text: str
    name: str


class _Name(NamedTuple):
    """A name ready for searching.

    Attributes:
        anchor: Stands in every text that mentions the name.
        pattern: How it is mentioned; None for a name so long that only its own letters will do, which are the anchor.
            Compiled only for a text that holds the anchor.
        case: Whether case is folded.
    """

    name: str
    anchor: str
    pattern: str | None
    case: bool

    def places(self, text: str, *, spaced: bool = False) -> Iterator[tuple[int, int]]:
        """Start and end of every mention in a folded text; ``spaced``: it holds no script without spaces."""
        if self.anchor not in text:
            return
        if self.pattern is not None:
            for match in _compile(self.pattern, spaced=spaced).finditer(text):
                yield match.span(1)
            return
        at = text.find(self.anchor)
        while at >= 0:
            yield at, at + len(self.anchor)
            at = text.find(self.anchor, at + len(self.anchor))


def find(
    text: str, entity: Entity, *, literal: bool = False, beside: Iterable[Entity | None] = ()
) -> tuple[Mention, ...]:
    """All mentions of an entity, in order, none overlapping; at one place the longest name wins.

    Args:
        text: Where to look.
        entity: Who to look for, by text and aliases.
        literal: Only the entity's own text as a whole word, case aside: no aliases, endings or folding (the rule of the
            judge's rubric, ScEdit Figure 10).
        beside: Others who may be meant: what is only part of a longer mention of one of them is no mention ("York" in
            "New York" where the other object is New York).

    Example:
        >>> from schemas.facts import Object
        >>> [m.text for m in find("Fly to Brasilia; Brasília's airport", Object(text="Brasília"))]
        ['Brasilia', 'Brasília']
        >>> find("Fly to New York", Object(text="York"), beside=[Object(text="New York")])
        ()
    """
    if literal:
        matches = _literal_pattern(entity.text).finditer(text)
        mentions = [Mention(m.start(), m.end(), m.group(), entity.text) for m in matches]
    else:
        mentions = _free(text, entity)
    hosts = [m for other in beside if other is not None for m in find(text, other)] if mentions else []
    return _keep_longest(m for m in mentions if not any(_lies_inside(m, h) for h in hosts))


def first(text: str, entity: Entity) -> Mention | None:
    """The first mention, or None.

    Example:
        >>> from schemas.facts import Object
        >>> first("Ask us about the US", Object(text="United States", aliases=("US",))).start
        17
    """
    mentions = find(text, entity)
    return mentions[0] if mentions else None


def _free(text: str, entity: Entity) -> list[Mention]:
    mentions: list[Mention] = []
    folded: dict[bool, tuple[FoldedText, bool]] = {}
    for name in _names(entity.names):
        if name.case not in folded:
            plain = fold(text, case=name.case)
            folded[name.case] = plain, plain.text.isascii() or _NO_SPACES.search(plain.text) is None
        plain, spaced = folded[name.case]
        for a, b in name.places(plain.text, spaced=spaced):
            if plain.whole(a, b):
                start, end = plain.place(a, b)
                mentions.append(Mention(start, end, text[start:end], name.name))
    return mentions


def _lies_inside(mention: Mention, host: Mention) -> bool:
    longer = host.end - host.start > mention.end - mention.start
    return longer and host.start <= mention.start and mention.end <= host.end


def _keep_longest(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    longest: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if not longest or mention.start >= longest[-1].end:
            longest.append(mention)
    return tuple(longest)


@lru_cache(maxsize=16384)
def _names(names: tuple[str, ...]) -> tuple[_Name, ...]:
    compiled = (_name(name) for name in dict.fromkeys(names))
    return tuple(m for m in compiled if m is not None)


def _acronym(name: str) -> bool:
    letters = [c for c in name if c.isalpha()]
    return 0 < len(letters) <= 4 and all(c.isupper() for c in letters) and " " not in name


def _name(name: str) -> _Name | None:
    acronym = _acronym(name)
    folded = fold(name, case=not acronym).text.strip()
    if not folded:
        return None
    if len(folded) > _LONGEST:
        return _Name(name, folded, None, not acronym)
    parts = [part for part in re.split(_GAP, folded) if part] or [folded]
    body, anchor = _GAP.join(_part(part) for part in parts), parts[0].partition(".")[0]
    if acronym and folded.isalpha() and len(folded) > 1:  # "US" is also found as "U.S."
        body, anchor = rf"{body}|{'[.]'.join(folded)}[.]?", folded[0]
    elif not acronym and re.search(r"[bcdfghjklmnpqrstvwxz]y$", folded):
        body += "|" + _GAP.join(_part(part) for part in (*parts[:-1], f"{parts[-1][:-1]}ies"))
        anchor = anchor[:-1] if parts == [anchor] else anchor
    return _Name(name, anchor, rf"{_left_guard(folded)}({body}){_right_guard(folded, acronym=acronym)}", not acronym)


@lru_cache(maxsize=16384)
def _compile(pattern: str, *, spaced: bool) -> re.Pattern[str]:
    """The pattern; with a shorter ``_LETTER``, sooner compiled, for a text in which the two are the same."""
    return re.compile(pattern.replace(_LETTER, r"[^\W_]") if spaced else pattern)


def _part(part: str) -> str:
    """One word of a name as a pattern; dots after letters may be missing, all of them or the last one."""
    bare = re.sub(r"(?<=[^\W\d_])\.", "", part)
    ways = dict.fromkeys((part, part.rstrip(".") if bare != part else part, bare or part))
    escaped = [re.escape(way) for way in ways if way]
    return escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"


def _left_guard(folded: str) -> str:
    """What may not stand directly before a name."""
    char = folded[0]
    if _HANGUL.match(char):
        return rf"(?<!{_LETTER})(?<!{_HANGUL.pattern})"
    if _NO_SPACES.match(char):
        return ""
    return rf"(?<!{_LETTER})" + (r"(?<!\d[.,])" if char.isdigit() else "")


def _right_guard(folded: str, *, acronym: bool) -> str:
    """Endings that may follow a name, and what may not."""
    char = folded[-1]
    if _NO_SPACES.match(char):
        return ""
    no_word = rf"(?!{_LETTER})" + (r"(?![.,]\d)" if char.isdigit() else "")
    if not (char.isalnum() or char == "."):
        return no_word
    if acronym:
        return rf"(?:'s)?{no_word}{_SIGN}"
    es = "es|" if re.search(r"(?:[sxzo]|ch|sh)$", folded) else ""
    return rf"(?:'s|s'|{es}s|')?{no_word}{_SIGN}"


@lru_cache(maxsize=16384)
def _literal_pattern(name: str) -> re.Pattern[str]:
    before = "" if _NO_SPACES.match(name[0]) else rf"(?<!{_LETTER})"
    after = "" if _NO_SPACES.match(name[-1]) else rf"(?!{_LETTER})"
    return re.compile(f"{before}{re.escape(name)}{after}", re.IGNORECASE)
