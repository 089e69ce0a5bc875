"""A recorded export of Label Studio: its tasks, each read by itself where one of them cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.files.json_files import read_json, read_text
from schemas.core.errors import DataError

_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
"""A text, or a sign that JSON is made of."""


def read_export(path: Path) -> list[Any]:
    """The tasks of a recorded Label Studio export (its JSON format); None in place of what is no task.

    Raises:
        UserError: there is no such file. DataError: it is no such export.
    """
    try:
        tasks = read_json(path, fix="export as 'JSON' and try again")
    except DataError:
        tasks = _tasks_apart(read_text(path))
        if not any(tasks):
            raise
    rows = tasks if isinstance(tasks, list) else [tasks]
    tasks_or_none = [t if isinstance(t, dict) and "annotations" in t else None for t in rows]
    if not isinstance(tasks, list) or (tasks and not any(tasks_or_none)):
        raise DataError(
            "this is no list of tasks with annotations", where=str(path), fix="export as 'JSON', not JSON-MIN or CSV"
        )
    return tasks_or_none


def _tasks_apart(text: str) -> list[Any]:
    """The members of a JSON array, each read by itself; None for one whose numbers or depth Python does not read.

    Empty where the text is no whole array: a file that was cut off is refused as a whole.
    """
    if not text.lstrip().startswith("["):
        return []
    tasks: list[Any] = []
    for member in _members(text):
        try:
            tasks.append(json.loads(member))
        except json.JSONDecodeError:
            return []
        except (ValueError, RecursionError):
            tasks.append(None)
    return tasks


def _members(text: str) -> Iterator[str]:
    """The texts between the commas of the outermost array; one that is no JSON where the array does not end."""
    depth = 0
    begin = text.index("[") + 1
    for sign in _MARK.finditer(text):
        character = sign.group()
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(character, 0)
        if (character == "," and depth == 1) or (character == "]" and depth == 0):
            yield text[begin : sign.start()]
            begin = sign.end()
    if depth or text[begin:].strip():
        yield ""
