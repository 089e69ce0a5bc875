"""Texts on their way to a model and back: made printable, put into a fence, filled into a wording, found as a quote.

Shared by the writers, the verifier and the judge, so that they show a text and look for a quote in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from schemas.text.folding import fold
from schemas.verdicts import Span

LONGEST = 12_000  # characters of what is sent of an item; nine short steps have some 500
LONGEST_LINE = 2000  # characters of a text in a reply; a longer one is no event, question or answer
_BLANK = r"[\s\x00-\x1f\x7f-\x9f]+"
_PLACE = re.compile(r"\{([a-z_]+)\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its placeholders replaced, all at once.

    Example:
        >>> fill("Ask about {subject} ({x})", {"subject": "{old}"})
        'Ask about {old} ({x})'
    """
    return _PLACE.sub(lambda m: values.get(m.group(1), m.group()), template)


def places(template: str) -> frozenset[str]:
    """Names of a template's placeholders.

    Example:
        >>> sorted(places("{subject} is in {old}, {subject}"))
        ['old', 'subject']
    """
    return frozenset(_PLACE.findall(template))


def refuse_unknown_places(texts: Mapping[str, str], allowed: frozenset[str]) -> None:
    """Refuse a placeholder that nothing fills.

    Args:
        texts: Templates by the name of their field.
        allowed: Names of placeholders that are filled.

    Raises:
        ValueError: there is one, as a validator of pydantic says it.

    Example:
        >>> refuse_unknown_places({"user": "Ask about {object}"}, frozenset({"subject"}))
        Traceback (most recent call last):
        ...
        ValueError: user: unknown placeholder {object}; allowed: ['subject']
    """
    for field, text in texts.items():
        if unknown := sorted(places(text) - allowed):
            raise ValueError(f"{field}: unknown placeholder {{{unknown[0]}}}; allowed: {sorted(allowed)}")


def require_places(field: str, text: str, required: frozenset[str]) -> None:
    """Refuse a template without a placeholder that it has to hold.

    Args:
        field: Name of the template's field.
        text: The template.
        required: Names of placeholders.

    Raises:
        ValueError: one is missing, as a validator of pydantic says it.

    Example:
        >>> require_places("user", "Ask about {subject}", frozenset({"subject", "count"}))
        Traceback (most recent call last):
        ...
        ValueError: user: the placeholder {count} is missing, the model would not be told it
    """
    if missing := sorted(required - places(text)):
        raise ValueError(f"{field}: the placeholder {{{missing[0]}}} is missing, the model would not be told it")


def tidy(text: str) -> str:
    r"""One line of printable text: control characters are gone, white space is single.

    Example:
        >>> tidy(" How to\n go?\x00 ")
        'How to go?'
    """
    if text.isprintable():  # then a space is its only white space
        return " ".join(text.split())
    printable = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cs")
    )
    return " ".join(printable.split())


def _line(text: str) -> str:
    if not tidy(text):
        raise ValueError("must not be empty")
    if len(text) > LONGEST_LINE:
        raise ValueError(f"has at most {LONGEST_LINE} characters")
    return tidy(text)


ReplyText = Annotated[str, AfterValidator(_line)]
"""A text in a reply: one tidy line that is neither empty nor endless; the limits are not in its JSON schema."""


def fence_text(text: str) -> str:
    r"""A text as it is shown to the model: its lines, without characters that are not printed, fence marks defused.

    Example:
        >>> fence_text("How?\nStep 1: Go\x1b[2J </text> now")
        'How?\nStep 1: Go [2J < /text> now'
    """
    lines = (tidy("".join(c if ord(c) > 31 or c.isspace() else " " for c in line)) for line in text.split("\n"))
    return re.sub(r"<(?=\s*/?\s*text)", "< ", "\n".join(lines), flags=re.IGNORECASE)


def find_quote(text: str, quote: str, *, what: str = "leak") -> Span | None:
    r"""Where a quote stands in a text as whole words, white space, case and accents aside; None where it does not.

    Args:
        text: Where to look.
        quote: What the model says stands there.
        what: What the place shows, for the span.

    Example:
        >>> find_quote("How to go?\nStep 1: Walk  along\nStep 2: Fly", "walk along").text
        'Walk  along'
        >>> find_quote("Pack a bag", "a ba") is None
        True
    """
    words = fold(quote).text.strip(" \t\n\"'“”.,;:").split()
    if not words or len(quote) > LONGEST:
        return None
    folded = fold(text)
    pattern = _BLANK.join(re.escape(w) for w in words)
    match = re.search(rf"(?<!\w){pattern}(?!\w)", folded.text)
    if match is None:
        return None
    start, end = folded.place(match.start(), match.end())
    return Span(start=start, end=end, text=text[start:end], what=what)
