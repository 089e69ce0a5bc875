"""Constrained writing for small models: a JSON schema fixes the reply's form, so that a step ends with the object."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from schemas.scripts import MAX_WORDS

PREPOSITIONS = ("to", "in", "into", "for", "from", "at", "by", "with", "about", "of", "on")
LED_TO = frozenset(
    f"P{n}" for n in (6, 17, 19, 20, 27, 30, 35, 36, 37, 50, 57, 86, 103, 108, 123, 127, 131, 137, 159)
) | {f"P{n}" for n in (169, 170, 175, 176, 178, 264, 272, 276, 364, 407, 449, 495, 740, 937, 1412)}
"""Relations whose objects are places, languages, firms or persons: a preposition leads to them."""

_ESCAPED = re.compile(r"[\\.^$|?*+()\[\]{}/-]")
_Short = Annotated[str, StringConstraints(min_length=4, max_length=36)]


class ObjectLast(BaseModel):
    """Preparing steps, then a step that ends with the object, then what comes after."""

    model_config = ConfigDict(extra="forbid")
    before: Annotated[list[_Short], Field(min_length=2, max_length=2)]
    key_step: str
    after: Annotated[list[_Short], Field(min_length=1, max_length=2)]


@lru_cache(maxsize=4096)
def object_last(old: str, *, led_to: bool) -> type[ObjectLast]:
    """The reply type for one object: a pattern in its JSON schema has the step end with the object.

    Args:
        old: The object.
        led_to: Whether a preposition stands before it.

    Example:
        >>> reply = object_last("Oslo", led_to=True)
        >>> steps = {"before": ["Pack a bag", "Lock the door"], "after": ["Rest there"]}
        >>> reply.model_validate({**steps, "key_step": "Take the train to Oslo"}).key_step
        'Take the train to Oslo'
    """
    free = max(1, min(4, MAX_WORDS - len(old.split()) - led_to - 1))
    before = f"[A-Z][a-z]{{1,11}}( [a-z]{{1,11}}){{1,{free}}}"
    leading = f" ({'|'.join(PREPOSITIONS)})" if led_to else ""
    pattern = f"^{before}{leading} {_ESCAPED.sub(lambda m: chr(92) + m.group(), old)}$"
    step = Annotated[str, StringConstraints(pattern=pattern)]
    return create_model("ObjectLast", __base__=ObjectLast, key_step=(step, ...))
