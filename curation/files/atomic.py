"""Files and folders that are whole or not there: what is written takes its name only when it is finished."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from schemas.core.errors import DataError, UserError


def unwritable(error: OSError, path: Path, what: str = "") -> UserError:
    """The one sentence for a folder that is full, closed or no folder; ``what`` was to be written ("the dump")."""
    blocked = isinstance(error, (FileExistsError, NotADirectoryError))
    reason = "a file stands where a folder is needed" if blocked else error.strerror or str(error)
    return UserError(
        f"{what} cannot be written: {reason}".lstrip(),
        where=str(path),
        fix="nothing was put there; name another place",
    )


@contextlib.contextmanager
def whole_file(path: Path, what: str = "") -> Iterator[IO[str]]:
    """A UTF-8 text file to write; it takes its name when the block ends well, and is removed when it does not.

    Args:
        path: Where it is to stand; what stands there stays until then.
        what: What it is, for the error ("the split").

    Raises:
        UserError: it cannot be written (full, not permitted, not a folder).
    """
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(error, path, what) from None
        raise


@contextlib.contextmanager
def whole_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder to fill; it takes its name when the block ends well, and is removed when it does not.

    Args:
        path: Where the folder is to stand: absent, or empty.
        replace: Put it in the place of what stands there.

    Raises:
        UserError: the place is taken, or cannot be written.
    """
    partial, old = (path.with_name(f".{path.name}.scedit-{what}") for what in ("partial", "old"))
    try:
        _mend(path, partial, old)
        taken = path.is_file() or (path.is_dir() and any(path.iterdir()))
        if taken and (path.is_file() or not replace):
            raise UserError("there is something here already", where=str(path), fix="name a new or empty folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        yield partial
        if taken:
            os.rename(path, old)
        os.rename(partial, path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        with contextlib.suppress(OSError):
            _mend(path, partial, old)
        if isinstance(error, OSError):
            raise unwritable(error, path) from None
        if isinstance(error, UserError) and (error.where or "").startswith(str(partial)):  # nobody knows that name
            raise UserError(error.what, where=str(path), allowed=error.allowed, fix=error.fix) from None
        raise


def _mend(path: Path, partial: Path, old: Path) -> None:
    """Clear away what an interrupted run left; a folder that was set aside comes back where nothing took its place."""
    if old.is_dir() and not path.exists():
        os.rename(old, path)
    for left in (partial, old):
        if left.is_dir():
            shutil.rmtree(left)


def text_lines(path: Path) -> list[str]:
    """The lines of a text file.

    Raises:
        UserError: there is no such file.
        DataError: it is not UTF-8, or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"not readable as UTF-8: {error}", where=str(path)) from None


def json_lines(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, str, Any]]:
    """Of lines that hold one JSON value each: the line's number, where it stands in words, the value.

    Empty lines are passed over.

    Raises:
        DataError: a line is no JSON; names it.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"not JSON: {error.msg}", where=where) from None
        yield number, where, value
