"""Cells of CSV files as spreadsheets read them."""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula, as text: with an apostrophe before it.

    Example:
        >>> safe_cell("=cmd|'/c calc'!A0"), safe_cell("rome"), safe_cell(-0.5)
        ("'=cmd|'/c calc'!A0", 'rome', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ")[:1] in _FORMULA and value.strip() else value
