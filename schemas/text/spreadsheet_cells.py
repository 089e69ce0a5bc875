"""Cells of CSV files as spreadsheets read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.core.errors import DataError

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula, as text: with an apostrophe before it.

    Example:
        >>> safe_cell("=cmd|'/c calc'!A0"), safe_cell("rome"), safe_cell(-0.5)
        ("'=cmd|'/c calc'!A0", 'rome', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ")[:1] in _FORMULA and value.strip() else value


def check_divider(header: Sequence[str], path: Path) -> None:
    """Refuse a sheet whose one column is several, divided by something else.

    Raises:
        DataError: the columns are divided by semicolons, tabs or commas where another divider belongs.
    """
    expected = "tabs" if path.suffix.lower() == ".tsv" else "commas"
    dividers = {"semicolons": ";", "tabs": "\t", "commas": ","}
    divider = next((name for name, sign in dividers.items() if len(header) == 1 and sign in header[0]), None)
    if divider is not None and divider != expected:
        other = "; a sheet with tabs is called .tsv" if divider == "tabs" else ""
        raise DataError(
            f"the columns are divided by {divider}, a {path.suffix.lower()} file needs {expected}",
            where=f"{path}, line 1",
            fix=f"save the sheet again with {expected}{other}",
        )
