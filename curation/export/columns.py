"""What a column of an exported table is."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column: its name, its DuckDB type (``[]``: a list), and what is in it."""

    name: str
    type: str
    about: str


def text_column(name: str, description: str) -> Column:
    """A column of texts.

    Example:
        >>> text_column("case", "key of the case").type
        'VARCHAR'
    """
    return Column(name, "VARCHAR", description)
