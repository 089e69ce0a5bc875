"""Records as our JSONL: one object a line, with its kind; the loader ``jsonl`` reads them back unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from curation.files.atomic import atomic_file
from schemas.core.records import Record


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
    count = 0
    with atomic_file(path) as file:
        for count, record in enumerate(records, 1):  # noqa: B007 - the number is what is asked for
            file.write(line_of(record) + "\n")
    return count
