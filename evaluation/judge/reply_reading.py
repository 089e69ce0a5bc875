"""What a judge's reply says where its shape is not quite the one asked for: read where it is plain, and on record.

``5``, ``"5"``, ``"5/7"``, ``5.0`` and keys that nobody asked for are read; ``true``, ``"4 or 5"`` and ``"5/10"`` not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

_POINTS = re.compile(r"\s*([1-9])(?:\.0+)?(?:\s*(?:/|out of|of)\s*([1-9]))?\s*")
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able|not comfortable)|i (?:cannot|can't|can not|won't|will not|refuse)|"
    r"i (?:must |have to )?(?:decline|refuse)|i(?:'d| would) rather not|i apologi[sz]e|my apologies|"
    r"as an? (?:ai|(?:large )?language model)\b|unable to (?:rate|assist|help|comply))",
    re.IGNORECASE,
)
_RATING = re.compile(r'"rating"\s*:\s*"?\s*([1-7])')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CUT_OFF = re.compile(
    r'\{\s*"rating"\s*:\s*([^,{}\[\]"]+|"[^",{}\[\]]*")\s*,\s*(?:"(?:[^"\\]|\\.)*(?:"\s*:?\s*(?:"(?:[^"\\]|\\.)*\\?)?)?)?',
    re.DOTALL,
)  # an object that ends in its second field
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class PlainReply(NamedTuple):
    """A reply in the shape that was asked for, and what was read into it (empty: nothing)."""

    data: Any
    read: str


def points(value: Any, *, highest: int = 7) -> int | None:
    """A rating from 1 to the highest one; None for anything that does not plainly say one.

    Example:
        >>> [points(v) for v in (5, 5.0, "5", "5/7", " 5 out of 7 ", True, "5/10", "4 or 5", 8, 4.5)]
        [5, 5, 5, 5, 5, None, None, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        is_whole = 1 <= value <= highest and value == int(value)  # infinite and NaN are no integers
        return int(value) if is_whole else None
    match = _POINTS.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > highest or match[2] not in (None, str(highest)):
        return None
    return int(match[1])


def plain_reply(data: Any, fields: tuple[str, ...]) -> PlainReply:
    """A decoded reply with its rating as a number and without keys that were not asked for.

    Args:
        data: The decoded JSON.
        fields: Names of the fields that were asked for.
    """
    if fields == ("rating",) and not isinstance(data, dict) and points(data) is not None:
        return PlainReply({"rating": points(data)}, f"the bare rating {data!r}")
    if not isinstance(data, dict):
        return PlainReply(data, "")
    notes = []
    extra = [k for k in data if k not in fields]
    if extra:
        notes.append(f"passed over: {', '.join(map(str, extra))[:80]}")
    clean = {k: v for k, v in data.items() if k in fields}
    rating = clean.get("rating")
    value = points(rating)
    if "rating" in clean:
        if isinstance(rating, bool):
            clean["rating"] = str(rating).casefold()  # a truth value is no 1
        elif value is not None and type(rating) is not int:
            notes.append(f"rating {rating!r} read as {value}")
            clean["rating"] = value
    return PlainReply(clean, "; ".join(notes))


def is_refusal(text: str) -> bool:
    """Whether a reply without a usable object declines in words.

    Example:
        >>> is_refusal("I'm sorry, but I can't rate this script."), is_refusal("The rating is five.")
        (True, False)
    """
    return bool(_REFUSAL.search(_THOUGHT.sub("", text)[:400].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")))


def rating_alone(text: str) -> PlainReply:
    """A reply that is a rating and nothing else, bare or in an object, or breaks off in the reason after it.

    A judge that leaves the reason out, or does not get to its end, and does so again when told has still rated.
    ``data`` is None for any other reply.

    Example:
        >>> [rating_alone(t).data for t in ("5/7", '"5"', '{"rating": 5}', '{"rating": true}', "5 or 6")]
        [5, 5, 5, None, None]
        >>> rating_alone('{"rating": 5, "reason": "The script names')
        PlainReply(data=5, read='the rating of a reply that breaks off in its reason')
    """
    bare = _THOUGHT.sub("", text).strip()
    if cut := _CUT_OFF.fullmatch(bare):
        try:
            return PlainReply(points(json.loads(cut[1])), "the rating of a reply that breaks off in its reason")
        except ValueError:
            return PlainReply(None, "")
    try:
        data = json.loads(bare)
    except (ValueError, RecursionError):
        data = bare
    has_rating_only = isinstance(data, dict) and list(data) == ["rating"]
    return PlainReply(points(data["rating"] if has_rating_only else data), f"the rating {bare[:80]!r} without a reason")


def rating_place(text: str, rating: int, decides: Callable[[dict[str, Any]], bool] | None = None) -> int | None:
    """Where the digit of a rating stands in a reply: in the first JSON object that has it; None where none has.

    So the object that decides the rating decides the score, too; one that a judge quotes or thinks about does not.

    Args:
        text: The reply.
        rating: The rating that was read from it.
        decides: Whether an object is one that can be read as a reply; None: any that has the rating.

    Example:
        >>> rating_place('first {"rating": 2}, no: {"rating": 5}', 5)
        36
    """
    decoder, start = json.JSONDecoder(), 0
    thought = _THOUGHT.match(text)
    start = text.find("{", thought.end() if thought else 0)
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        fits = isinstance(value, dict) and points(value.get("rating")) == rating
        if fits and (decides is None or decides(value)):
            matches = [m for m in _RATING.finditer(text, start, end) if _depth(text[start : m.start()]) == 1]
            return (
                matches[-1].start(1) if matches else None
            )  # of a key that stands twice the last one counts, as in JSON
        start = text.find("{", end)
    return None


def _depth(json_text: str) -> int:
    """How many objects and lists are open at the end of the beginning of a JSON text."""
    bare = _QUOTED.sub("", json_text)
    return sum(bare.count(mark) for mark in "{[") - sum(bare.count(mark) for mark in "}]")
