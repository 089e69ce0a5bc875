"""Sheets as people fill them in."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annotation_ui.campaigns.sheets import write_sheet


def sheet_rows(path: Path) -> list[dict[str, Any]]:
    """All rows of a sheet, those that explain it first."""
    if path.suffix == ".csv":
        with open(path, encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def put_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """A sheet with these rows in place of what is there."""
    path.unlink(missing_ok=True)
    write_sheet(rows, path)


def fill_sheet(path: Path, answers: Mapping[str, str]) -> None:
    """The same answers in every row."""
    put_rows(path, [{**row, **answers} for row in sheet_rows(path)])
