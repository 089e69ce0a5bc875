"""The two bases: ``Frozen`` (a value) and ``Record`` (a value with a key and a content id)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from operator import not_
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from schemas.core.ids import canonical_json, text_id


def _clean(text: str) -> str:
    if text != text.strip():
        raise ValueError("must not begin or end with white space")
    if not text:
        raise ValueError("must not be empty")
    return text


Text = Annotated[str, AfterValidator(_clean)]
"""A non-empty string without surrounding white space."""


def _one_gap(prompt: str) -> str:
    if prompt.count("{}") != 1:
        raise ValueError(f"must hold exactly one {{}} for the subject, it holds {prompt.count('{}')}")
    return prompt


PromptText = Annotated[Text, AfterValidator(_one_gap)]
"""A prompt with exactly one ``{}`` for the subject."""

Key = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^\S+$")]
"""A stable identity: no white space."""


Language = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"),
    Field(exclude_if=lambda language: language == "en"),
]
"""A language tag such as "de"; English, the default, is not written, so it is no part of an id."""

UNLESS_NONE = Field(exclude_if=lambda value: value is None)
"""Of a field that is not written where it is None, so that records without it have the id that they had before it."""
UNLESS_EMPTY = Field(exclude_if=not_)
"""The same of a field that is empty or false."""


class Frozen(BaseModel):
    """An immutable value; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields replaced; what was computed of the fields (an id) is computed anew."""
        copied = super().model_copy(update=update, deep=deep)
        for computed in copied.__dict__.keys() - type(copied).model_fields.keys():
            del copied.__dict__[computed]
        return copied


class Record(Frozen):
    """Something the store keeps.

    Attributes:
        key: Stable identity from the record's source.
    """

    kind: ClassVar[str]
    key: Key

    @cached_property
    def id(self) -> str:
        """Content hash: equal content (key included) has equal id, in every process and on every machine."""
        return text_id(self.kind, self.canonical())

    def canonical(self) -> str:
        """The payload's canonical JSON text, of which the id is made."""
        return canonical_json(self.payload())

    def payload(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return self.model_dump(mode="json")


def stored_text(value: BaseModel) -> str:
    """A value's JSON text in the order of its fields, as stores hold it.

    Example:
        >>> from schemas.facts import Entity
        >>> stored_text(Entity(text="Peru"))
        '{"text":"Peru","aliases":[],"wikidata":null}'
    """
    try:
        return value.model_dump_json()
    except ValueError:  # half of a surrogate pair: whoever stores the text says where it is
        return json.dumps(value.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
