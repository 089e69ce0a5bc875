"""What a source says beside the facts: its own probes, hops, popularity and the like, kept word for word."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pydantic import field_validator

from schemas.core.ids import canonical_json
from schemas.core.records import Key, Record, Text


class Extra(Record):
    """Something of a source record that no other kind of record holds; nothing here reads it, nothing loses it.

    Attributes:
        of: Key of the fact it belongs to (or of the thing the source names, where no fact could be made of it).
        also: Keys of further facts it depends on, such as the other edits of a multi-hop case.
        name: What it is, in the source's words ("portability/Reasoning", "multi_hop").
        content: Its values as canonical JSON text.

    Example:
        >>> Extra.holding("f/1/extra/popularity", {"b": 1, "a": [None]}, of="f/1", name="popularity").content
        '{"a":[null],"b":1}'
    """

    kind: ClassVar[str] = "extra"
    of: Key
    also: tuple[Key, ...] = ()
    name: Text
    content: str

    @field_validator("content")
    @classmethod
    def _canonical(cls, content: str) -> str:
        return canonical_json(json.loads(content))

    @classmethod
    def holding(cls, key: str, value: Any, *, of: str, name: str, also: tuple[str, ...] = ()) -> Extra:
        """An extra with ``value`` (plain JSON values) as its content."""
        return cls(key=key, of=of, also=also, name=name, content=canonical_json(value))

    @property
    def value(self) -> Any:
        """The content as Python values."""
        return json.loads(self.content)
