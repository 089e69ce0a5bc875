"""What a column of an exported table is."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column: its name, its DuckDB type (``[]``: a list), and what is in it."""

    name: str
    type: str
    about: str


def source_columns(what: str) -> tuple[Column, ...]:
    """Where a record comes from, under what licence.

    Args:
        what: What comes from there, in words.

    Example:
        >>> source_columns("the event")[0].about
        'where the event comes from'
    """
    return (
        text_column("source", f"where {what} comes from"),
        text_column("licence", "licence that the source states"),
        text_column("source_url", "address of the source, or null"),
        text_column("source_item", "the record in the source, or null"),
        text_column("source_date", "date of the source, or null"),
    )


def text_column(name: str, description: str) -> Column:
    """A column of texts.

    Example:
        >>> text_column("case", "key of the case").type
        'VARCHAR'
    """
    return Column(name, "VARCHAR", description)
