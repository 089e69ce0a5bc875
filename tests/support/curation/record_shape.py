"""The shape of a record: its fields and their types."""

from __future__ import annotations


def shape(record: dict[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in record.items()}
