"""A recorded export of Label Studio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curation.files.json_files import read_json
from schemas.core.errors import DataError


def read_export(path: Path) -> list[Any]:
    """The tasks of a recorded Label Studio export (its JSON format); None in place of what is no task.

    Raises:
        UserError: there is no such file. DataError: it is no such export.
    """
    tasks = read_json(path, fix="export as 'JSON' and try again")
    rows = tasks if isinstance(tasks, list) else [tasks]
    tasks_or_none = [t if isinstance(t, dict) and "annotations" in t else None for t in rows]
    if not isinstance(tasks, list) or (tasks and not any(tasks_or_none)):
        raise DataError(
            "this is no list of tasks with annotations", where=str(path), fix="export as 'JSON', not JSON-MIN or CSV"
        )
    return tasks_or_none
