"""JSON files: reading a value or a value a line, writing rows one at a time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from curation.files.atomic import atomic_file
from schemas.core.decoding import line_of, why_not_utf8
from schemas.core.errors import DataError, UserError


def read_text(path: Path, what: str = "file", *, encoding: str = "utf-8-sig", fix: str | None = None) -> str:
    """The text of a file.

    Args:
        path: The file.
        what: What it is, for the errors ("sheet").
        encoding: Of the text; a mark in front of UTF-8 is no part of it.
        fix: What to do where there is none.

    Raises:
        UserError: there is no such file.
        DataError: it is not UTF-8, or cannot be read.
    """
    with _reading(path, what, fix):
        try:
            return path.read_text(encoding=encoding)
        except UnicodeDecodeError as error:
            raise DataError(f"the {what} is {why_not_utf8(error)}", where=f"{path}, line {line_of(error)}") from None


@contextlib.contextmanager
def _reading(path: Path, what: str, fix: str | None = None) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"there is no such {what}", where=str(path), fix=fix) from None
    except OSError as error:
        raise DataError(f"the {what} cannot be read: {error.strerror or error}", where=str(path)) from None


def read_json(path: Path, what: str = "file", *, fix: str | None = None) -> Any:
    """The JSON value of a file.

    Raises:
        UserError: there is no such file.
        DataError: it cannot be read, or is not JSON.
    """
    text = read_text(path, what)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not readable as JSON: {_reason(error, str(error))}", where=str(path), fix=fix) from None


def json_lines(path: Path, text: str | None = None) -> Iterator[tuple[int, str, Any]]:
    """The JSON values of a file that holds one a line: the line's number, where it stands in words, the value.

    Only newlines end a line: other characters that Unicode counts as line ends (U+2028, U+0085 ...) may stand in a
    JSON text as they are. Empty lines are passed over.

    Args:
        path: The file.
        text: Its text, where that has been read already.

    Raises:
        UserError: there is no such file.
        DataError: it cannot be read, or a line is not JSON; names it.
    """
    for number, line in enumerate(text_lines(path) if text is None else text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"not JSON: {_reason(error, getattr(error, 'msg', ''))}", where=where) from None
        yield number, where, value


def text_lines(path: Path, what: str = "file") -> Iterator[str]:
    """The lines of a file, one at a time; only newlines end them.

    Raises:
        UserError: there is no such file.
        DataError: it is not UTF-8, or cannot be read.
    """
    with _reading(path, what), open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise DataError(f"the {what} is {why_not_utf8(error)}", where=f"{path}, line {number}") from None
            yield text


def _reason(error: ValueError | RecursionError, fault: str) -> str:
    """The fault in the text, or what Python's reader gives up on, though it is JSON."""
    if isinstance(error, json.JSONDecodeError):
        return fault
    return "its values lie too deep in one another" if isinstance(error, RecursionError) else "a number is too long"


def write_array(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Rows as one JSON array, a row to a line; returns their number."""
    count = 0
    with atomic_file(path) as file:
        for count, row in enumerate(rows, 1):
            file.write("[\n" if count == 1 else ",\n")
            file.write(json.dumps(row, ensure_ascii=False))
        file.write("\n]\n" if count else "[]\n")
    return count


def write_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Rows as JSON lines; returns their number."""
    count = 0
    with atomic_file(path) as file:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the number is what is asked for
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    return count
