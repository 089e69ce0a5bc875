"""Records as our JSONL: one object a line, with its kind; the loader ``jsonl`` reads them back unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from schemas.errors import UserError
from schemas.records import Record


def line_of(record: Record) -> str:
    """A record as one line of JSON, without its newline."""
    return json.dumps({"kind": record.kind, **record.payload()}, ensure_ascii=False, separators=(",", ":"))


def write_records(records: Iterable[Record], path: Path) -> int:
    """Write records; the file appears whole or not at all.

    Returns:
        The number of records written.

    Raises:
        UserError: the file cannot be written.
    """
    part, count = path.with_name(f".{path.name}.part"), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            for record in records:
                file.write(line_of(record) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(f"cannot be written: {error.strerror}", where=str(path)) from None
    return count
