"""What a source says beside the facts: its own probes, hops, popularity and the like, kept word for word."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pydantic import ConfigDict, Field, field_validator

from schemas.core.ids import canonical_json
from schemas.core.records import Key, Record, Text


class Extra(Record):
    """Something of a source record that no other kind of record holds; nothing here reads it, nothing loses it.

    Stores and files keep ``subject_key`` as ``of`` and ``depends_on`` as ``also``.

    Attributes:
        subject_key: Key of the fact it belongs to, or of the thing the source names where no fact could be made of it.
        depends_on: Keys of further facts it depends on, such as the other edits of a multi-hop case.
        name: What it is, in the source's words ("portability/Reasoning", "multi_hop").
        content: Its values as canonical JSON text.

    Example:
        >>> Extra.holding("f/1/extra/popularity", {"b": 1, "a": [None]}, subject_key="f/1", name="popularity").content
        '{"a":[null],"b":1}'
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    kind: ClassVar[str] = "extra"
    subject_key: Key = Field(alias="of")
    depends_on: tuple[Key, ...] = Field(default=(), alias="also")
    name: Text
    content: str

    @field_validator("content")
    @classmethod
    def _canonical(cls, content: str) -> str:
        return canonical_json(json.loads(content))

    @classmethod
    def holding(cls, key: str, value: Any, *, subject_key: str, name: str, depends_on: tuple[str, ...] = ()) -> Extra:
        """An extra with ``value`` (plain JSON values) as its content."""
        return cls(key=key, subject_key=subject_key, depends_on=depends_on, name=name, content=canonical_json(value))

    @property
    def value(self) -> Any:
        """The content as Python values."""
        return json.loads(self.content)
