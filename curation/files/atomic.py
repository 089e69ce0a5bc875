"""Files and folders that are whole or not there: what is written takes its name only when it is finished.

Text, bytes, JSON, files that other libraries write (DuckDB), and folders go through here.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from schemas.core.errors import UserError

ELSEWHERE = "nothing was put there; name another place"


def unwritable(error: OSError, path: Path, what: str = "", *, fix: str = ELSEWHERE) -> UserError:
    """The one sentence for a folder that is full, closed or no folder; ``what`` was to be written ("the dump")."""
    blocked = isinstance(error, (FileExistsError, NotADirectoryError))
    reason = "a file stands where a folder is needed" if blocked else error.strerror or str(error)
    return UserError(f"{what} cannot be written: {reason}".lstrip(), where=str(path), fix=fix)


@contextlib.contextmanager
def atomic_path(
    path: Path, what: str = "", *, fsync: bool = True, shared: bool = False, fix: str = ELSEWHERE
) -> Iterator[Path]:
    """A path to write a file to; the file takes its name when the block ends well, and is removed when it does not.

    Args:
        path: Where it is to stand; its folder is made, what stands there stays until the end.
        what: What it is, for the error ("the split").
        fsync: Flush it to the disk before it takes its name; without, a power cut may lose it. For what can be
            made again (caches, reports) False is enough.
        shared: Several processes may write this file at once; each then has a partial file of its own.
        fix: The next step to name in the error.

    Raises:
        UserError: it cannot be written (full, not permitted, not a folder).
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial" if shared else f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        yield partial
        if fsync:
            with open(partial, "rb") as file:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(error, path, what, fix=fix) from None
        raise


@contextlib.contextmanager
def atomic_file(
    path: Path,
    what: str = "",
    *,
    fsync: bool = True,
    shared: bool = False,
    errors: str = "strict",
    fix: str = ELSEWHERE,
) -> Iterator[IO[str]]:
    """A UTF-8 text file to write, with ``atomic_path``; newlines are written as they are.

    Args:
        path: As in ``atomic_path``.
        what: As in ``atomic_path``.
        fsync: As in ``atomic_path``.
        shared: As in ``atomic_path``.
        errors: What becomes of characters that UTF-8 cannot hold (lone surrogates), as in ``open``.
        fix: As in ``atomic_path``.

    Raises:
        UserError: it cannot be written.
    """
    with (
        atomic_path(path, what, fsync=fsync, shared=shared, fix=fix) as partial,
        open(partial, "w", encoding="utf-8", errors=errors, newline="\n") as file,
    ):
        yield file


def write_text(
    path: Path, text: str, what: str = "", *, fsync: bool = True, errors: str = "strict", fix: str = ELSEWHERE
) -> None:
    """Write a text file whole or not at all; see ``atomic_file``.

    Raises:
        UserError: it cannot be written.
    """
    with atomic_file(path, what, fsync=fsync, errors=errors, fix=fix) as file:
        file.write(text)


def write_bytes(
    path: Path, data: bytes, what: str = "", *, fsync: bool = True, shared: bool = False, fix: str = ELSEWHERE
) -> None:
    """Write bytes whole or not at all; see ``atomic_path``.

    Raises:
        UserError: it cannot be written.
    """
    with atomic_path(path, what, fsync=fsync, shared=shared, fix=fix) as partial:
        partial.write_bytes(data)


def write_json(
    path: Path,
    value: Any,
    what: str = "",
    *,
    indent: int | None = 2,
    fsync: bool = True,
    shared: bool = False,
    fix: str = ELSEWHERE,
) -> None:
    """Write a JSON value whole or not at all, with a newline at the end; see ``atomic_path``.

    Raises:
        UserError: it cannot be written.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent) + "\n"
    with atomic_file(path, what, fsync=fsync, shared=shared, fix=fix) as file:
        file.write(text)


@contextlib.contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
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
