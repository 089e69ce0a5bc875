"""Is a mention part of a longer name: London Bridge, New York Times, South Africa, Bank of America?"""

from __future__ import annotations

import re
from functools import lru_cache

from construction.mentions.name_forms import word_set
from construction.mentions.position import begins_sentence, capitals_tell_nothing
from curation.shipped import SHIPPED

_WORD = r"[^\W\d_](?:[\w'’]|[-.](?=\w))*"
_RIGHT = re.compile(rf"(?:[ \u00a0]|\s&\s)({_WORD})")
_LEFT = re.compile(rf"({_WORD}\.?)(?:[ \u00a0]|\s&\s)\Z")
_WAYS = "train|flight|road|line|route|ferry|express|bus|motorway|railway|border|match|game"
_COMPOUND = re.compile(  # "Chicago-style", "Honda-Fest"; not "the London-Paris train", which goes to both
    rf"[-\u2010\u2011](?!(?:bound|based|born|made|area|side)\b|[^\W\d_][\w-]*\s(?:{_WAYS})\b)[^\W\d_][\w-]*"
)
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S+|[\w.+-]+@[\w.-]+|[#@]\w+|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|[a-z]{2})(?:/\S*)?",
    re.IGNORECASE,
)
_LEFT_OF = re.compile(rf"({_WORD})\s(?:of|de|du|di|del|da)\s(?:the\s|la\s)?\Z")


_PART = word_set(  # before a name, these make another name of it even where they begin the sentence
    "north south east west northern southern eastern western central upper lower new old great greater little "
    "saint st san santa los las el mount mt lake port fort cape inner outer middle royal ancient"
)
_NO_PART = word_set(  # a name beside these is still that name
    "mr mrs ms dr prof professor president king queen prince princess pope sir lady lord saint emperor chancellor "
    "coach dear captain general senator governor mayor minister chef judge director author composer singer count "
    "countess duke inc ltd ag gmbh corp corporation company co plc sa se nv llc group limited i monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august september "
    "october november december"
)
_SAME_OF = word_set(  # "Republic of Peru" is Peru; "the embassy of Peru" speaks of Peru
    "republic kingdom state states city town commonwealth government embassy consulate ministry president king "
    "queen parliament ambassador capital people citizens map history minister province region country island "
    "works novels books songs films art ceo founder chairman headquarters"
)
_HEAD_OF = word_set(  # before "of", these begin another name even where they begin the sentence
    "bank university tower museum bishop gulf bay lake duke earl battle treaty isle house church cathedral port "
    "cape duchy archbishop"
)
_SMALL_PART = re.compile(
    r"\b(?:north|south|east|west|northern|southern|eastern|western|central|new|equatorial|papua new|saint|san|santa|"
    r"los|las|el|mount|lake|fort|british|american|french)[ \u00a0]\Z"
)
_JOINED = ("Trinidad and Tobago", "Bosnia and Herzegovina", "Antigua and Barbuda", "Saint Kitts and Nevis",
           "Sao Tome and Principe", "São Tomé and Príncipe", "Turks and Caicos", "Tyne and Wear",
           "Guinea-Bissau", "Timor-Leste", "Papua New Guinea")  # fmt: skip


def longer_name(text: str, start: int, end: int, *, names: tuple[str, ...] = ()) -> str | None:
    """The longer name that a mention stands in, or None.

    Args:
        text: The text, with its lines.
        start: Where the mention begins.
        end: Where it ends.
        names: All names of who is mentioned; their own words make no other name.

    Example:
        >>> longer_name("Walk over London Bridge", 10, 16)
        'London Bridge'
        >>> longer_name("Visit London in May", 6, 12) is None
        True
        >>> longer_name("Open an account at Bank of America", 27, 34)
        'Bank of America'
        >>> longer_name("Wear Chicago-style hats", 5, 12)
        'Chicago-style'
    """
    phrase = set_phrase(text, start, end)
    if phrase is not None:
        return phrase
    if (compound := _COMPOUND.match(text, end)) is not None:
        return text[start : compound.end()]
    if (glued := _glued_token(text, start, end)) is not None:
        return glued
    if not text[start].isupper() or capitals_tell_nothing(text, start, end):
        return None
    name_words = frozenset(re.findall(r"[^\W\d_]+", " ".join(names).casefold()))
    a, b = _left_end(text, start, name_words), _right_end(text, end, name_words)
    return text[a:b] if (a, b) != (start, end) else None


def small_longer_name(text: str, start: int, end: int) -> str | None:
    """A longer name without capitals: "south africa", "new mexico".

    Example:
        >>> small_longer_name("fly to south africa", 13, 19), small_longer_name("fly south to africa", 13, 19)
        ('south africa', None)
    """
    match = None if text[start].isupper() else _SMALL_PART.search(text[:start])
    return None if match is None else text[match.start() : end]


def _glued_token(text: str, start: int, end: int) -> str | None:
    """The address or tag that holds a place without white space: "honda.com", "info@nokia.com", "#paris"."""
    a, b = start, end
    while a and not text[a - 1].isspace():
        a -= 1
    while b < len(text) and not text[b].isspace():
        b += 1
    whole = text[a:b].strip("\"'“”‘’„«»()[]<>.,;:!?*_`")
    return whole if _ADDRESS.fullmatch(whole) else None


def _left_end(text: str, start: int, object_words: frozenset[str]) -> int:
    """Where the longer name begins."""
    at = start
    while (match := _LEFT.search(text, max(0, at - 60), at)) is not None:
        word = match.group(1)
        plain = word.casefold().rstrip(".")
        if not word[0].isupper() or plain in _NO_PART or plain in object_words:
            break
        if begins_sentence(text, match.start(1)) and plain not in _PART:
            break
        at = match.start(1)
    match = _LEFT_OF.search(text, max(0, at - 60), at)
    if match is not None and match.group(1)[0].isupper():
        plain = match.group(1).casefold()
        first = begins_sentence(text, match.start(1))
        if plain not in _SAME_OF and plain not in object_words and (not first or plain in _HEAD_OF):
            at = match.start(1)
    return at


def _right_end(text: str, end: int, object_words: frozenset[str]) -> int:
    """Where the longer name ends."""
    at = end
    while (match := _RIGHT.match(text, at)) is not None:
        word = match.group(1)
        plain = word.casefold().rstrip(".")
        if (
            not word[0].isupper()
            or plain in _NO_PART
            or plain in object_words
            or plain.removesuffix("s") in object_words
        ):
            break
        at = match.end(1)
    return at


@lru_cache(maxsize=1)
def _phrases() -> tuple[str, ...]:
    lines = (SHIPPED / "names/set_phrases.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


@lru_cache(maxsize=4096)
def _phrases_with(word: str) -> tuple[re.Pattern[str], ...]:
    """Set phrases, and joined names, that hold a word."""
    phrases = [p for p in (*_phrases(), *_JOINED) if len(p) >= len(word)]  # none for a name of a megabyte
    if not phrases:
        return ()
    holds = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    chosen = [p for p in phrases if holds.search(p)]
    return tuple(re.compile(rf"\b{re.escape(p)}(?:e?s)?\b", re.IGNORECASE) for p in chosen)


def set_phrase(text: str, start: int, end: int) -> str | None:
    """The set phrase that a mention stands in, or None.

    Example:
        >>> set_phrase("Fry the french fries", 8, 14)
        'french fries'
    """
    for pattern in _phrases_with(text[start:end].casefold()):
        for match in pattern.finditer(text):
            if match.start() <= start and end <= match.end() and match.end() - match.start() > end - start:
                return match.group()
    return None
