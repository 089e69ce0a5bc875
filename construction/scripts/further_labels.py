"""Further labels and marks that are taken off, and fractions that look like labels: "3/4 cups of milk"."""

from __future__ import annotations

import html
import re

_UNITS = (
    r"of|cups?|tea ?spoons?|table ?spoons?|dessert ?spoons?|tsp|tbsp|pints?|quarts?|gallons?|lit(?:re|er)s?|ml|cl|dl|"
    r"inch(?:es)?|in|feet|foot|ft|yards?|miles?|metres?|meters?|kilomet(?:re|er)s?|km|mm|cm|grams?|kilos?|kilograms?|"
    r"kg|g|pounds?|lbs?|ounces?|oz|tons?|hours?|minutes?|days?|weeks?|months?|years?|time|full|empty|way|turns?|"
    r"price|size|length|speed|scale|of|bottles?|glass(?:es)?|cans?|tins?|packets?|bags?|boxes|box|slices?|sticks?|"
    r"bars?|acres?|scoops?|pinch(?:es)?|bunch(?:es)?|cloves?|heads?|done|cooked|ripe|dry|share|stakes?|majority|notes?"
)
_FRACTION = re.compile(rf"^\d{{1,2}}\s?/\s?\d{{1,2}}(?:\s+|-)(?:{_UNITS})\b", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[◆◇❖✅✳✴✦✧★☆‒―⁕※🔹🔸🔷🔶👉]\ufe0f?\s*)+(?=\S)")
_STEP = re.compile(
    r"^(?:step|task|phase|stage)\s+(?:[ivx]{1,4}\s*[:.)–—-]+|\d{1,2}\s*\([^()]{1,24}\)\s*:|\d{1,2}\s*[|>»]+)\s+(?=\S)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"^(?:0?\d{1,2}[.)]|\d{1,2}[a-i][.)]|\d{1,2}\.\d\.?)\s+(?=[^\W\d_a-z])(?![A-Z]{2,3}\b|Liga\b)")
_IN_WORD = re.compile(r"(?<=\w)(\*{2,3}|_{2,3}|`)(\w+)\1|(\*{2,3}|_{2,3}|`)(\w+)\3(?=\w)")
_WIKI = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]|\{\{([^{}|]+)\}\}")
_TAG_SIGNS = re.compile(r"&(?:lt|gt|#60|#62|#x3c|#x3e);", re.IGNORECASE)


def is_fraction(step: str) -> bool:
    """Whether a step begins with a part of something, which no label is.

    Example:
        >>> is_fraction("3/4 cups of milk go in"), is_fraction("3/4 Fly home"), is_fraction("3/4: cups go in")
        (True, False, False)
    """
    return _FRACTION.match(step) is not None


def without_further_marks(step: str) -> str:
    """The step without marks within words and those of wikis; escaped tags become tags, which are taken off later.

    Example:
        >>> without_further_marks("Fly to Ro**me**"), without_further_marks("Fly to [[Roma|Rome]]")
        ('Fly to Rome', 'Fly to Rome')
    """
    step = _TAG_SIGNS.sub(lambda m: html.unescape(m.group()), step)
    step = _WIKI.sub(lambda m: m[1] or m[2], step)
    return _IN_WORD.sub(lambda m: m[2] or m[4], step)


def without_further_label(step: str) -> str:
    """The step without a sign, or "Step III:", before it.

    Example:
        >>> [without_further_label(step) for step in ("Step III: Pack", "Step 1 (easy): Pack", "✅ Pack")]
        ['Pack', 'Pack', 'Pack']
    """
    return _STEP.sub("", _BULLET.sub("", step), count=1)


def without_lone_number(step: str) -> str:
    """The step without a number before it, whichever step it is; a club's number stays ("1. FC Köln").

    Example:
        >>> [without_lone_number(step) for step in ("4. Pack", "1.1 Pack", "1.5 litres will do", "1. FC Köln plays")]
        ['Pack', 'Pack', '1.5 litres will do', '1. FC Köln plays']
    """
    return _NUMBER.sub("", step, count=1)
