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
_PEOPLE = (6, 35, 127, 137, 169, 286, 488, 1037, 3975)
_MAKERS = (50, 57, 58, 86, 87, 98, 110, 162, 170, 175, 676)
_FIRMS = (54, 108, 123, 176, 178, 264, 272, 449)
_KINDS = (
    (_PLACES, ("to", "in")),
    (_LANGUAGES, ("in", "into")),
    (_PEOPLE, ("to", "with", "from", "for")),
    (_MAKERS, ("by", "about", "of")),
    (_FIRMS, ("from", "to", "by", "at")),
    ((641,), ("of", "for", "in", "about")),
    ((1303,), ("on the", "for the", "of the")),
    ((38,), ("into the", "with the", "for the")),
)
LEADING: Mapping[str, tuple[str, ...]] = {f"P{n}": words for numbers, words in _KINDS for n in numbers}
"""Words that lead to the objects of a relation; other relations have none."""

_ESCAPED = re.compile(r"[\\.^$|?*+()\[\]{}/-]")
SPARE = 1
"""Words that a step may have beyond the format: who needs them all is refused by the format anyway."""
_WORD = "[a-z][a-z'-]{0,15}"
_BESIDE = f"^[A-Z][a-z]{{1,15}}( [A-Za-z0-9][A-Za-z0-9'-]{{0,15}}){{1,{MAX_WORDS - 1 + SPARE}}}$"
_Beside = Annotated[str, StringConstraints(pattern=_BESIDE)]


class ObjectLast(BaseModel):
    """Preparing steps, then a step that ends with the object, then what comes after.

    Attributes:
        leading: Words one of which stands before the object; none where any word may.
        pattern: What the step with the object looks like.
    """

    model_config = ConfigDict(extra="forbid")
    leading: ClassVar[tuple[str, ...]] = ()
    pattern: ClassVar[str] = ""
    before: Annotated[list[_Beside], Field(min_length=2, max_length=2)]
    key_step: str
    after: Annotated[list[_Beside], Field(min_length=1, max_length=2)]


@lru_cache(maxsize=4096)
def object_last(old: str, leading: tuple[str, ...] = ()) -> type[ObjectLast]:
    """The reply type for one object: a pattern in its JSON schema has the step end with the object.

    After every word another may follow, up to one more than the format allows. A pattern that wants a longer word where
    the model has begun a short one, or has no room for one more, has words run together ("Send it bymail to Oslo",
    "Fill in the orderform to Oslo"); here that can only happen in a step that is too long. The check ``script_format``
    refuses that one, and holds words that cannot follow each other.

    Args:
        old: The object.
        leading: Words one of which stands before it, after some other word. A long name has them right after the verb,
            so that the step keeps to its length.

    Example:
        >>> reply = object_last("Oslo", ("to", "in"))
        >>> steps = {"before": ["Pack a bag", "Lock the door"], "after": ["Rest there"]}
        >>> reply.model_validate({**steps, "key_step": "Take the train to Oslo"}).key_step
        'Take the train to Oslo'
    """
    room = MAX_WORDS - 1 - len(old.split())  # words between the verb and the object
    way = ""
    if leading and room >= (longest_leading := max(len(words.split()) for words in leading)):
        way, room = f" ({'|'.join(leading)})", room - longest_leading
    between = f"( {_WORD}){{{min(1, max(0, room))},{max(0, room) + SPARE}}}"
    pattern = f"^[A-Z][a-z]{{1,15}}{between}{way} {_ESCAPED.sub(lambda m: chr(92) + m.group(), old)}$"
    step = Annotated[str, StringConstraints(pattern=pattern)]
    reply_type = create_model("ObjectLast", __base__=ObjectLast, key_step=(step, ...))
    reply_type.leading, reply_type.pattern = leading, pattern
    return reply_type


def usual_step(form: type[ObjectLast], old: str) -> str:
    """A step with the object, in the form that the reply type fixes."""
    way = form.leading[0] if form.leading else "for"
    steps = (f"Ask someone {way} {old}", f"Ask {way} {old}", f"Ask for {old}", f"Ask {old}")
    return next((step for step in steps if re.search(form.pattern, step)), steps[0])
