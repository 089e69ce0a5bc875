"""Does the word right before the object lead to it? "Fly to ...", "the map of ..." and "visit ..." lead to a place.

Other families of words say where a cut leads nowhere; the words for that have no end. Those that do lead to a place, a
language, a firm are few, and a shipped table holds them by what the objects are. After a word that it does not hold
("a sticker about", "bake", "sing") the place is for people.
"""

from __future__ import annotations

import re
from functools import lru_cache

from construction.cuts.attributive_uses import noun_kind
from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import COME_FROM
from curation.shipped import SHIPPED

_LETTER = re.compile(r"[^\W\d_]")
_GLUED = re.compile(r"(?P<what>\S*[-‐‑–—/\\$&+=%~|_#@^*.,;:])\Z")
_BETWEEN = re.compile(r"[^\W\d_a-z]\S*[-‐‑–—]")
_BOTH_WAYS = re.compile(  # "the London-Paris train" goes to both
    r"\A[ \u00a0](?:(?:night|day|express|direct|sleeper|overnight) )?(?:train|flight|road|line|route|ferry|express|bus|"
    r"motorway|railway|border|match|game|coach|ticket|trip)s?\b"
)
_QUOTED = re.compile(r"[\"“„«‟][\s(\[]*\Z")
_CLOSED = re.compile(r"\A(?:['’]s?)?[.,!?…]*[\"”“»]")
_AT_HOME = re.compile(  # what is done to food, clothes, pets and the house is done to no place and no language
    r"\A(?:\w+ly )?(?:eat|drink|sip|nibble|chew|swallow|cook|bake|fry|boil|grill|roast|toast|stew|peel|slice|chop|"
    r"grate|stir|whisk|knead|spread|season|pickle|freeze|brew|dip|soak|wash|rinse|scrub|dust|iron|knit|darn|hem|wear|wrap|comb|braid|"
    r"brush|shave|powder|perfume|feed|pet|stroke|groom|walk the|hug|kiss|cuddle|tickle|tease|scold|marry|mow|rake|"
    r"prune|sweep|mop|vacuum|polish|wax|kick|smash|chase|whistle|hum|sing|strum|snore|sneeze|cough|yawn|"
    r"(?:put|pull|slip|try) on)\b",
    re.IGNORECASE,
)
_RENAMED = re.compile(  # a file or a password may have any name
    r"\A(?:rename|retitle|relabel)\b(?: \w+){1,4} (?:to|as|after)[\s\"'“‘]+\Z|"
    r"\bchange (?:the|your|its|his|her) (?:\w+ )?(?:name|password|title|ringtone|nickname) to[\s\"'“‘]+\Z",
    re.IGNORECASE,
)
_SORRY = re.compile(
    r"\b(?:feel|be|get|grow) (?:\w+ )?(?:sorry|happy|sad|bad|jealous|envious|afraid|proud|shy|fond) "
    r"(?:for|about|of|with)\s+\Z",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(  # a film shot there has no bearing on what the question asks
    r"\b(?:film|movie|novel|story|book|song|series|tale|comedy|thriller|play|opera)s? (?:that (?:is|was|are|were) )?"
    r"(?:shot|set|filmed|staged) (?:in|at|near|around|outside)\s+\Z",
    re.IGNORECASE,
)
_BESIDE_A_PERSON = re.compile(
    r"\b(?:neighbou?r|classmate|lodger|landlord|landlady|flatmate)s? (?:of|to)\s+\Z",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"\b(?:in|into|to|at|near|across|through|throughout|around|towards?|inside|outside|for)\s+(?:the\s+)?\Z"
)
_WORD = re.compile(r"(?P<word>[^\W\d_]+(?:['’-][^\W\d_]+)*)[ \u00a0]+\Z")
_NOUN = re.compile(r"\A(?:-|[ \u00a0](?:[a-z]|T-)[^\W\d_]*)")

_NOT_AT_HOME = frozenset(["place", "language", "school", "field", "religion", "occupation"])


def unknown_leader(place: CutPlace) -> str | None:
    """The word before the object where it is none that leads to an object of this kind; else None.

    A colon, a quotation mark or a number right before the object is judged by other rules, as is a name. For persons
    there is no table.

    Example:
        >>> [unknown_leader(CutPlace(before, "P36")) for before in ("Fly to ", "Sing ", "Order a ")]
        [None, 'Sing', 'a']
        >>> unknown_leader(CutPlace("Take a ", "P36", after=" train")) is None
        True
    """
    kind = None if place.person else noun_kind(place.relation)
    words = _table().get(kind or "")
    match = _WORD.search(place.before)
    if words is None or match is None:
        return None
    word = match.group("word")
    if word[0].isupper() and match.start():
        return None
    whole = word.casefold().replace("’", "'")
    parts = {whole, whole.rsplit("-", 1)[-1]}
    if parts & _table()["counted"] and kind in ("place", "team", "school"):
        return None if _NOUN.match(place.after) else word
    if parts & (words | _table()["labels"]) or word.endswith("ly"):
        return None
    return word


def lead_fault(place: CutPlace) -> str:
    """Why nothing leads to the object at a place, in words; empty where something does.

    Example:
        >>> lead_fault(CutPlace("Fly to ", "P36")), lead_fault(CutPlace("Fly to Paris/", "P36"))
        ('', "the object is glued to 'Paris/'")
        >>> lead_fault(CutPlace("", "P36")), lead_fault(CutPlace('Read "', "P36", after=': A Guide"'))
        ('the step is nothing but the object', 'the object begins a title in quotation marks')
    """
    before, relation, after, person = place
    if not before.strip() and not _LETTER.search(after):
        return "the step is nothing but the object"
    glued = _GLUED.search(before)
    if glued is not None and not (_BETWEEN.fullmatch(glued.group("what")) and _BOTH_WAYS.match(after)):
        return f"the object is glued to '{glued.group('what')}'"
    if not person and _QUOTED.search(before) and _LETTER.search(after) and not _CLOSED.match(after):
        return "the object begins a title in quotation marks"
    word = unknown_leader(place)
    if word is not None:
        return f"nothing leads to the object after '{word}'"
    families = [_SORRY, _BESIDE_A_PERSON] if person else [_RENAMED, _SORRY]
    families += [_ELSEWHERE] if noun_kind(relation) == "place" and relation not in COME_FROM else []
    found = next((match for family in families if (match := family.search(before)) is not None), None)
    if found is not None:
        return f"nothing leads to the object after '{found.group().strip()}'"
    return _household_fault(place)


def _household_fault(place: CutPlace) -> str:
    """What is said of a step that begins with a verb of the house, with no word of place or label after it."""
    before, relation, _, person = place
    done = _AT_HOME.match(before)
    if done is None or person or noun_kind(relation) not in _NOT_AT_HOME or _THERE.search(before):
        return ""
    last = before.split()[-1].casefold()
    if last in _table()["labels"] or (last == "from" and relation in COME_FROM):
        return ""
    return f"nothing leads to the object after '{done.group()}'"


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    """The words of each line, by its kind."""
    lines = (SHIPPED / "names/words_before.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split("|") for line in lines if line and not line.startswith("#"))
    return {kind.strip(): frozenset(word.strip() for word in words.split(";")) for kind, words in rows}
