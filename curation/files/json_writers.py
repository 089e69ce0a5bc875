"""Rows as JSON files, written one at a time; checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from curation.files.atomic import whole_file

_CHUNK = 2**20


def write_array(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Rows as one JSON array, a row to a line; returns their number."""
    count = 0
    with whole_file(path) as file:
        for count, row in enumerate(rows, 1):
            file.write("[\n" if count == 1 else ",\n")
            file.write(json.dumps(row, ensure_ascii=False))
        file.write("\n]\n" if count else "[]\n")
    return count


def write_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Rows as JSON lines; returns their number."""
    count = 0
    with whole_file(path) as file:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the number is what is asked for
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    return count


def sha256(path: Path) -> str:
    """SHA-256 of a file (64 hexadecimal digits), read in pieces."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
    return found.hexdigest()
