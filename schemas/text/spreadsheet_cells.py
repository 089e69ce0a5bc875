"""Cells of CSV files as spreadsheets read them."""

from __future__ import annotations

from typing import Any

from schemas.text.escaping import escape

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: Any) -> Any:
    r"""A text as a spreadsheet and a terminal show it and obey nothing of it; what is no text stays.

    What would be taken for a formula has an apostrophe before it; characters that a terminal obeys, or that turn the
    line around, are written out as in the report.

    Example:
        >>> safe_cell("=cmd|'/c calc'!A0"), safe_cell("rome"), safe_cell(-0.5), safe_cell("a\x1b[2J\u202eb")
        ("'=cmd|'/c calc'!A0", 'rome', -0.5, 'a\\u001b[2J\\u202eb')
    """
    if not isinstance(value, str):
        return value
    formula = value.lstrip(" ")[:1] in _FORMULA and value.strip()
    return f"'{escape(value)}" if formula else escape(value)
