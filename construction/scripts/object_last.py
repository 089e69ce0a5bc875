"""Constrained writing for small models: a JSON schema fixes the reply's form, so that a step ends with the object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from schemas.scripts import MAX_WORDS

_PLACES = (17, 19, 20, 27, 30, 36, 131, 159, 276, 495, 740, 937)
_LANGUAGES = (37, 103, 364, 407, 1412)
_PEOPLE_AND_FIRMS = (6, 35, 50, 57, 86, 108, 123, 127, 137, 169, 170, 175, 176, 178, 264, 272, 449)
LEADING: Mapping[str, tuple[str, ...]] = {
    **{f"P{n}": ("to", "in", "from") for n in _PLACES},
    **{f"P{n}": ("in", "into") for n in _LANGUAGES},
    **{f"P{n}": ("to", "from", "by", "with") for n in _PEOPLE_AND_FIRMS},
}
"""Prepositions that lead to the objects of a relation; other relations have none."""

_ESCAPED = re.compile(r"[\\.^$|?*+()\[\]{}/-]")
_Short = Annotated[str, StringConstraints(min_length=4, max_length=36)]


class ObjectLast(BaseModel):
    """Preparing steps, then a step that ends with the object, then what comes after.

    Attributes:
        leading: Prepositions one of which stands before the object; none where any word may.
    """

    model_config = ConfigDict(extra="forbid")
    leading: ClassVar[tuple[str, ...]] = ()
    before: Annotated[list[_Short], Field(min_length=2, max_length=2)]
    key_step: str
    after: Annotated[list[_Short], Field(min_length=1, max_length=2)]


@lru_cache(maxsize=4096)
def object_last(old: str, leading: tuple[str, ...] = ()) -> type[ObjectLast]:
    """The reply type for one object: a pattern in its JSON schema has the step end with the object.

    Args:
        old: The object.
        leading: Prepositions one of which stands before it, after a word of four letters or more: no "at the in Oslo".

    Example:
        >>> reply = object_last("Oslo", ("to", "in"))
        >>> steps = {"before": ["Pack a bag", "Lock the door"], "after": ["Rest there"]}
        >>> reply.model_validate({**steps, "key_step": "Take the train to Oslo"}).key_step
        'Take the train to Oslo'
    """
    free = max(0, min(3, MAX_WORDS - len(old.split()) - bool(leading) - 2))
    before = f"[A-Z][a-z]{{1,11}}( [a-z]{{1,11}}){{0,{free}}}"
    way = f" [a-z]{{4,11}} ({'|'.join(leading)})" if leading else " [a-z]{1,11}"
    pattern = f"^{before}{way} {_ESCAPED.sub(lambda m: chr(92) + m.group(), old)}$"
    step = Annotated[str, StringConstraints(pattern=pattern)]
    made = create_model("ObjectLast", __base__=ObjectLast, key_step=(step, ...))
    made.leading = leading
    return made
